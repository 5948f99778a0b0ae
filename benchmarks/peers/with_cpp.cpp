// The same laws and loops in C++ on Pinocchio's headers, everything of fixed size: the reference.
//
// Built and called by with_cpp.py. A pose is twelve numbers, rotation row by row and position; a
// reference is twenty-four: place, rotation, velocity and acceleration, moving before turning.

#include <algorithm>
#include <cmath>
#include <limits>

#include <pinocchio/algorithm/aba.hpp>
#include <pinocchio/algorithm/crba.hpp>
#include <pinocchio/algorithm/rnea.hpp>
#include <pinocchio/multibody.hpp>
#include <pinocchio/spatial.hpp>

// The two joints that these robots have, and one that Pinocchio asks for by name: of all its joints
// the compiler would have to make every algorithm.
template <typename S, int O>
struct Joints {
    using Scalar = S;
    enum { Options = O };
    using JointModelVariant =
        boost::variant<pinocchio::JointModelRevoluteTpl<S, O, 2>,
                       pinocchio::JointModelPrismaticTpl<S, O, 2>,
                       boost::recursive_wrapper<pinocchio::JointModelCompositeTpl<S, O, ::Joints>>,
                       boost::recursive_wrapper<pinocchio::JointModelMimicTpl<S, O, ::Joints>>>;
    using JointDataVariant =
        boost::variant<pinocchio::JointDataRevoluteTpl<S, O, 2>,
                       pinocchio::JointDataPrismaticTpl<S, O, 2>,
                       boost::recursive_wrapper<pinocchio::JointDataCompositeTpl<S, O, ::Joints>>,
                       boost::recursive_wrapper<pinocchio::JointDataMimicTpl<S, O, ::Joints>>>;
};

using pinocchio::SE3;
template <int R, int C = 1>
using Mat = Eigen::Matrix<double, R, C>;
using Rot = Eigen::Matrix<double, 3, 3, Eigen::RowMajor>;
using V3 = Mat<3>;

static SE3 pose(const double *x) { return SE3(Eigen::Map<const Rot>(x), Eigen::Map<const V3>(x + 9)); }

struct Frame {
    int joint;
    SE3 placement;
};

struct Robot {
    pinocchio::ModelTpl<double, 0, Joints> model;
    pinocchio::DataTpl<double, 0, Joints> data;
    Frame tool, closure;
    double alpha, beta, alpha_c, beta_c, kp, kd;
    Mat<2> at;
    Mat<5, 6> B;
    Mat<7> rest;
    bool turning = false;
};

// What Pinocchio is asked for in a tick: M, Jacobians in the world, nle, velocities and drifts.
template <int N>
static void terms(Robot &robot, const Mat<N> &q, const Mat<N> &v) {
    pinocchio::crba(robot.model, robot.data, q, pinocchio::Convention::WORLD);
    pinocchio::nonLinearEffects(robot.model, robot.data, q, v);
    robot.data.M.triangularView<Eigen::StrictlyLower>() =
        robot.data.M.transpose().triangularView<Eigen::StrictlyLower>();
}

template <int N>
struct Seen {
    Mat<6, N> J;
    Mat<6> twist, drift;
    SE3 place;
};

template <int N>
static void see(const Robot &robot, const Frame &frame, Seen<N> &seen) {
    const auto &data = robot.data;
    seen.place = data.oMi[frame.joint] * frame.placement;
    const V3 p = seen.place.translation();
    seen.J.setZero();
    for (int k = 0; k < frame.joint; ++k) {  // a chain: joint k + 1 turns or slides along k
        const V3 w = data.J.block<3, 1>(3, k);
        seen.J.template block<3, 1>(0, k) = data.J.block<3, 1>(0, k) + w.cross(p);
        seen.J.template block<3, 1>(3, k) = w;
    }
    const auto v = frame.placement.actInv(data.v[frame.joint]);
    const auto a = frame.placement.actInv(data.a_gf[frame.joint]);
    const auto &R = seen.place.rotation();
    seen.twist << R * v.linear(), R * v.angular();
    seen.drift << R * (a.linear() + v.angular().cross(v.linear())) + robot.model.gravity.linear(),
        R * a.angular();
}

template <int N>
static Mat<6> demand(const Robot &robot, const Seen<N> &seen, const double *ref) {
    Mat<6> error;
    error << seen.place.translation() - Eigen::Map<const V3>(ref),
        pinocchio::log3(Eigen::Matrix3d(
            seen.place.rotation() * Eigen::Map<const Rot>(ref + 3).transpose()));
    const Mat<6> rate = seen.twist - Eigen::Map<const Mat<6>>(ref + 12);
    Mat<6> wanted = Eigen::Map<const Mat<6>>(ref + 18) - robot.alpha * rate - robot.beta * error -
                    seen.drift;
    if (robot.turning)  // the error is one that the frame sees
        wanted.tail<3>() += V3(seen.twist.template tail<3>()).cross(V3(rate.tail<3>()));
    return wanted;
}

// SCARA: as many rows as motors and freedoms.
static Mat<4> scara(Robot &robot, const Mat<4> &q, const Mat<4> &v, const double *ref) {
    Seen<4> seen;
    terms<4>(robot, q, v);
    see(robot, robot.tool, seen);
    const Mat<6> wanted = demand(robot, seen, ref);
    Mat<4, 4> A;
    A << seen.J.topRows<3>(), seen.J.row(5);
    const Mat<4> b(wanted[0], wanted[1], wanted[2], wanted[5]);
    const Mat<4> a = A.partialPivLu().solve(b);
    return Mat<4, 4>(robot.data.M) * a + Mat<4>(robot.data.nle);
}

// Panda: a pose, and next to a posture's torques in the metric of Gauss.
static Mat<7> panda(Robot &robot, const Mat<7> &q, const Mat<7> &v, const double *ref) {
    Seen<7> seen;
    terms<7>(robot, q, v);
    see(robot, robot.tool, seen);
    const Mat<6> b = demand(robot, seen, ref);
    const Mat<7> nle = robot.data.nle;
    const Eigen::LLT<Mat<7, 7>> M{Mat<7, 7>(robot.data.M)};
    Mat<7> u = robot.kp * (robot.rest - q) - robot.kd * v;
    u += pinocchio::computeGeneralizedGravity(robot.model, robot.data, q);
    const Mat<7, 6> X = M.matrixL().solve(Mat<7, 6>(seen.J.transpose()));
    const Mat<7> a = M.matrixL().solve(Mat<7>(u - nle));
    const Mat<6, 6> S = X.transpose() * X;
    const Mat<6> r = b - X.transpose() * a;
    u += seen.J.transpose() * S.llt().solve(r);
    return u;
}

// The arms: least torques of six motors, three rows to follow, two that close the loop.
static void arms(Robot &robot, const Mat<5> &q, const Mat<5> &v, const double *ref, Mat<6> &u,
                 Mat<5> &a) {
    Seen<5> seen;
    terms<5>(robot, q, v);
    see(robot, robot.tool, seen);
    const Mat<6> wanted = demand(robot, seen, ref);
    Mat<3, 5> A;
    A << seen.J.topRows<2>(), seen.J.row(5);
    const V3 b(wanted[0], wanted[1], wanted[5]);
    see(robot, robot.closure, seen);
    const Mat<2, 5> A_p = seen.J.topRows<2>();
    const Mat<2> b_p = -seen.drift.head<2>() - robot.alpha_c * seen.twist.head<2>() -
                       robot.beta_c * (seen.place.translation().head<2>() - robot.at);
    Mat<5, 9> right;
    right << -Mat<5>(robot.data.nle), robot.B, A_p.transpose();
    const Mat<5, 9> answer = Mat<5, 5>(robot.data.M).llt().solve(right);
    const Mat<5, 2> back = answer.rightCols<2>();
    const Mat<2, 7> open = A_p * answer.leftCols<7>();
    Mat<2, 7> push = -open;
    push.col(0) += b_p;
    const Mat<5, 7> held =
        answer.leftCols<7>() + back * Mat<2, 2>(A_p * back).llt().solve(push);
    const Mat<3, 6> H = A * held.rightCols<6>();
    const V3 r = b - A * held.col(0);
    u = H.transpose() * Mat<3, 3>(H * H.transpose()).llt().solve(r);
    a = held.col(0) + held.rightCols<6>() * u;
}

using Y = Mat<10>;

// State of the arms: the angles of the links and their rates.
static Y slope(Robot &robot, double t, const Y &y, Mat<6> &u) {
    double ref[24] = {1.5, 0.5 * (1.0 - std::cos(t)), 0.0, 1, 0, 0, 0, 1, 0, 0, 0, 1};
    ref[13] = 0.5 * std::sin(t);
    ref[19] = 0.5 * std::cos(t);
    Mat<5> q = y.head<5>(), v = y.tail<5>(), a;
    for (int i = 4; i > 0; --i) q[i] -= q[i - 1], v[i] -= v[i - 1];
    arms(robot, q, v, ref, u, a);
    for (int i = 1; i < 5; ++i) a[i] += a[i - 1];
    Y rate;
    rate << y.tail<5>(), a;
    return rate;
}

static double norm(const Y &x) { return std::sqrt(x.squaredNorm() / 10.0); }

// A method of SciPy: its tables, padded to sixteen stages, and its rules for the length of steps.
struct Method {
    int stages, order;  // of the error estimate
    const double *A, *B, *C, *E, *E3, *P;  // E3 is null for RK45; P is D for DOP853
};

struct Adaptive {
    Robot &robot;
    const Method &method;
    double tol;
    Mat<10, 16> K;
    Mat<6> u;

    Y fun(double t, const Y &y) { return slope(robot, t, y, u); }

    Y sum(int count, const double *weights) const {
        return K.leftCols(count) * Eigen::Map<const Eigen::VectorXd>(weights, count);
    }

    double first(double t, const Y &y, const Y &f, double span) {
        const Y scale = (tol + y.array().abs() * tol).matrix();
        const double d0 = norm(y.cwiseQuotient(scale)), d1 = norm(f.cwiseQuotient(scale));
        const double h0 = std::min(d0 < 1e-5 || d1 < 1e-5 ? 1e-6 : 0.01 * d0 / d1, span);
        const Y f1 = fun(t + h0, y + h0 * f);
        const double d2 = norm((f1 - f).cwiseQuotient(scale)) / h0;
        const double h1 = d1 <= 1e-15 && d2 <= 1e-15
                              ? std::max(1e-6, h0 * 1e-3)
                              : std::pow(0.01 / std::max(d1, d2), 1.0 / (method.order + 1));
        return std::min({100.0 * h0, h1, span});
    }

    double error(double h, const Y &scale) const {
        const int n = method.stages + 1;
        const Y five = sum(n, method.E).cwiseQuotient(scale);
        if (!method.E3) return std::abs(h) * norm(five);
        const double e5 = five.squaredNorm();
        const double e3 = sum(n, method.E3).cwiseQuotient(scale).squaredNorm();
        return e5 == 0.0 && e3 == 0.0 ? 0.0
                                      : std::abs(h) * e5 / std::sqrt((e5 + 0.01 * e3) * 10.0);
    }

    // From t over h: y at fractions of the step.
    Mat<10, 7> interpolant(double t, double h, const Y &y, const Y &y_new) {
        Mat<10, 7> F = Mat<10, 7>::Zero();
        if (!method.E3) {
            for (int i = 0; i < 4; ++i) F.col(i) = h * sum(7, method.P + 7 * i);
            return F;
        }
        for (int s = method.stages + 1; s < 16; ++s)
            K.col(s) = fun(t + method.C[s] * h, y + h * sum(s, method.A + 16 * s));
        const Y f = K.col(0), f_new = K.col(method.stages), delta = y_new - y;
        F.col(0) = delta;
        F.col(1) = h * f - delta;
        F.col(2) = 2.0 * delta - h * (f_new + f);
        for (int i = 0; i < 4; ++i) F.col(3 + i) = h * sum(16, method.P + 16 * i);
        return F;
    }

    Y inside(const Mat<10, 7> &F, const Y &y, double x) const {
        Y z = Y::Zero();
        if (!method.E3) return y + x * (F.col(0) + x * (F.col(1) + x * (F.col(2) + x * F.col(3))));
        for (int i = 0; i < 7; ++i) z = (z + F.col(6 - i)) * (i % 2 ? 1.0 - x : x);
        return y + z;
    }

    void run(Y &y, double end, double sample, double *told) {
        double t = 0.0;
        Y f = fun(t, y);
        double length = first(t, y, f, end);
        const double power = -1.0 / (method.order + 1);
        for (int next = 0, all = int(std::lround(end / sample)); t < end;) {
            double h = 0.0;
            Y y_new;
            for (bool rejected = false;; rejected = true) {
                h = std::min(length, end - t);
                length = h;
                K.col(0) = f;
                for (int s = 1; s < method.stages; ++s)
                    K.col(s) = fun(t + method.C[s] * h, y + h * sum(s, method.A + 16 * s));
                y_new = y + h * sum(method.stages, method.B);
                K.col(method.stages) = fun(t + h, y_new);
                const Y largest = y.cwiseAbs().cwiseMax(y_new.cwiseAbs());
                const double e = error(h, (tol + largest.array() * tol).matrix());
                if (e < 1.0) {
                    const double grow = e == 0.0 ? 10.0 : std::min(10.0, 0.9 * std::pow(e, power));
                    length *= rejected ? std::min(1.0, grow) : grow;
                    break;
                }
                length *= std::max(0.2, 0.9 * std::pow(e, power));
            }
            f = K.col(method.stages);
            const double t_new = end - t <= h ? end : t + h;
            if (next < all && next * sample <= t_new) {
                const Mat<10, 7> F = interpolant(t, h, y, y_new);
                for (; next < all && next * sample <= t_new; ++next) {
                    fun(next * sample, inside(F, y, (next * sample - t) / h));
                    Eigen::Map<Mat<6>>(told + 6 * next) = u;
                }
            }
            t = t_new;
            y = y_new;
        }
    }
};

extern "C" {

Robot *make(int n, const int *slides, const double *placements, const double *inertias,
            const double *gravity) {
    auto *robot = new Robot;
    int parent = 0;
    for (int i = 0; i < n; ++i) {
        const SE3 place = pose(placements + 12 * i);
        const std::string name = "joint" + std::to_string(i);
        parent = slides[i] ? robot->model.addJoint(parent, pinocchio::JointModelPZ(), place, name)
                           : robot->model.addJoint(parent, pinocchio::JointModelRZ(), place, name);
        const double *x = inertias + 13 * i;
        robot->model.appendBodyToJoint(
            parent, pinocchio::Inertia(x[0], Eigen::Map<const V3>(x + 1),
                                       Eigen::Matrix3d(Eigen::Map<const Rot>(x + 4))));
    }
    robot->model.gravity.linear() = Eigen::Map<const V3>(gravity);
    robot->data = pinocchio::DataTpl<double, 0, Joints>(robot->model);
    return robot;
}

void forget(Robot *robot) { delete robot; }

// gains: alpha, beta of the task, of the closure, kp, kd; frames: joint and pose, twice.
void set(Robot *robot, const double *gains, const double *frames, const double *at,
         const double *B, const double *rest) {
    robot->alpha = gains[0], robot->beta = gains[1], robot->alpha_c = gains[2];
    robot->beta_c = gains[3], robot->kp = gains[4], robot->kd = gains[5];
    robot->tool = {int(frames[0]), pose(frames + 1)};
    robot->closure = {int(frames[13]), pose(frames + 14)};
    robot->at = Eigen::Map<const Mat<2>>(at);
    robot->B = Eigen::Map<const Eigen::Matrix<double, 5, 6, Eigen::RowMajor>>(B);
    robot->rest = Eigen::Map<const Mat<7>>(rest);
}

// So many ticks, the states in turn; the torques of the last of each state stay in u.
void ticks(Robot *robot, int n, const double *q, const double *v, const double *refs, int states,
           int calls, double *u) {
    robot->turning = false;
    for (int i = 0, k = 0; i < calls; ++i, k = k + 1 == states ? 0 : k + 1) {
        const double *at_q = q + n * k, *at_v = v + n * k, *ref = refs + 24 * k;
        if (n == 4)
            Eigen::Map<Mat<4>>(u + 4 * k) =
                scara(*robot, Eigen::Map<const Mat<4>>(at_q), Eigen::Map<const Mat<4>>(at_v), ref);
        if (n == 7)
            Eigen::Map<Mat<7>>(u + 7 * k) =
                panda(*robot, Eigen::Map<const Mat<7>>(at_q), Eigen::Map<const Mat<7>>(at_v), ref);
        if (n == 5) {
            Mat<6> found;
            Mat<5> a;
            arms(*robot, Eigen::Map<const Mat<5>>(at_q), Eigen::Map<const Mat<5>>(at_v), ref,
                 found, a);
            Eigen::Map<Mat<6>>(u + 6 * k) = found;
        }
    }
}

void adaptive(Robot *robot, const Method *method, double tol, double *state, double end,
              double sample, double *told) {
    Y y = Eigen::Map<const Y>(state);
    Adaptive{*robot, *method, tol, Mat<10, 16>::Zero(), Mat<6>::Zero()}.run(y, end, sample, told);
    Eigen::Map<Y>{state} = y;
}

void rk4(Robot *robot, double *state, int steps, double h, int every, double *told) {
    Y y = Eigen::Map<const Y>(state);
    Mat<6> u;
    for (int k = 0; k < steps; ++k) {
        const double t = k * h;
        const Y k1 = slope(*robot, t, y, u);
        if (k % every == 0) Eigen::Map<Mat<6>>(told + 6 * (k / every)) = u;
        const Y k2 = slope(*robot, t + 0.5 * h, y + 0.5 * h * k1, u);
        const Y k3 = slope(*robot, t + 0.5 * h, y + 0.5 * h * k2, u);
        const Y k4 = slope(*robot, t + h, y + h * k3, u);
        y += h / 6.0 * (k1 + 2.0 * (k2 + k3) + k4);
    }
    Eigen::Map<Y>{state} = y;
}

// A law at a fixed rate, the torques held; the plant, another robot, by one step of RK4 a tick.
void sampled(Robot *robot, Robot *plant, const double *refs, double *state, int steps, double h,
             int every, double *told) {
    Mat<7> q = Eigen::Map<const Mat<7>>(state), v = Eigen::Map<const Mat<7>>(state + 7);
    robot->turning = true;
    for (int k = 0; k < steps; ++k) {
        const Mat<7> u = panda(*robot, q, v, refs + 24 * k);
        if (k % every == 0) Eigen::Map<Mat<7>>(told + 7 * (k / every)) = u;
        const auto f = [&](const Mat<7> &at_q, const Mat<7> &at_v) -> Mat<7> {
            return pinocchio::aba(plant->model, plant->data, at_q, at_v, u);
        };
        const Mat<7> a1 = f(q, v), v2 = v + 0.5 * h * a1;
        const Mat<7> a2 = f(q + 0.5 * h * v, v2), v3 = v + 0.5 * h * a2;
        const Mat<7> a3 = f(q + 0.5 * h * v2, v3), v4 = v + h * a3;
        const Mat<7> a4 = f(q + h * v3, v4);
        q += h / 6.0 * (v + 2.0 * (v2 + v3) + v4);
        v += h / 6.0 * (a1 + 2.0 * (a2 + a3) + a4);
    }
    Eigen::Map<Mat<7>>{state} = q;
    Eigen::Map<Mat<7>>{state + 7} = v;
}
}
