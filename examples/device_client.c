/* A device for `rtsim hil` whose actuator does at once what it is told: ./device_client [ADDRESS]
   cc -O2 device_client.c -o device_client $(pkg-config --cflags --libs libzmq msgpack) -lm */
#include "device_wire.h"

static const int64_t TICK = 2000000, RAMP = 50000000; /* own clock, ramp to zero [ns] */
static const double LIMIT = 30.0;                     /* own limit [N m] */
enum { OFF, ON, FALLING, STOPPED };
static const char *STATES[] = {"disarmed", "armed", "falling", "stopped"};

static int64_t over(const Output *o) { return o->sent + (int64_t)(1e6 * o->valid_ms); } /* its end [ns] */
static int too_old(const Output *o, int64_t t) { /* nor before it was sent: then the clock went back */
  return t < o->sent || t > over(o);
}

int main(int n_argument, char **arguments) {
  const char *address = n_argument > 1 ? arguments[1] : "tcp://127.0.0.1:5563";
  void *lost, *socket = dealer(address, &lost);
  int may_arm = 0, state = OFF;
  Output output = {.session = "", .seq = -1}, came = output; /* none yet */
  Reply told = {0, 0, 0.0, LIMIT, STATES[OFF], ""};
  int64_t due = now(), fell = 0;
  double fell_from = 0.0;
  if (!socket) return 1;
  for (;;) {
    int64_t left = due - now();
    zmq_poll(&(zmq_pollitem_t){socket, 0, ZMQ_POLLIN, 0}, 1, left > 0 ? left / 1000000 : 0);
    int heard = 0;
    Output next;
    for (int k = 0, found; k < MOST_WAITING && (found = receive(socket, &next)) >= 0; k++)
      if (found && follows(&came, &next)) came = next, heard = 1; /* the newest of all that have come */
    connect_again(socket, lost, address);
    int64_t t = now();
    int new = heard && strcmp(came.session, output.session);
    int old = too_old(&output, t); /* looked at before what came is taken */
    if (state == ON && (old || new))
      state = FALLING, told.fault = old ? "too old" : "another session", fell_from = told.torque,
      fell = old && over(&output) < t ? over(&output) : t;
    if (heard) {
      output = came, may_arm = may_arm && !new;
      if (too_old(&output, t)) {
        if (state == ON) state = FALLING, told.fault = "too old", fell_from = told.torque, fell = t;
      } else if (!output.armed) {
        may_arm = 1;
        if (state != FALLING) state = OFF, told.fault = "";
      } else if (may_arm && state == OFF) state = ON, may_arm = 0;
    }
    if (t < due && !(heard && output.answer)) continue;
    due = t + TICK;
    told.torque = state == ON ? within(within(output.torque, output.most), LIMIT) : 0.0;
    if (state == FALLING) {
      int64_t passed = t - fell; /* below zero where the clock went back */
      told.torque = passed >= 0 && passed < RAMP ? fell_from * (1.0 - (double)passed / RAMP) : 0.0;
      state = told.torque == 0.0 ? STOPPED : FALLING;
    }
    told.state = STATES[state], told.t = t;
    reply(socket, &output, told);
    told.seq++;
  }
}
