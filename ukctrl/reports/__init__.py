"""How is a result shown? In figures, tables and pages.

In order: ``plot`` draws figures of a result; ``report_table`` holds a table, made once for every
medium; ``visual`` is what a robot looks like; ``scene`` puts together what is seen in three
dimensions; ``html_page`` renders pages that need nothing beside them, from `templates/`;
``run_page`` is the page of one run, which every other page looks like; ``notebook_card`` has cards
for notebooks. The pages of studies and analyses stand beside what they show.
"""
