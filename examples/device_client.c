/* A device for `rtsim hil` whose actuator does at once what it is told: ./device_client [ADDRESS]
   cc -O2 device_client.c -o device_client $(pkg-config --cflags --libs libzmq msgpack) -lm */
#include "device_wire.h"

static const double TICK = 2e6, RAMP = 50e6, LIMIT = 30.0; /* own clock, ramp to zero [ns], own limit [N m] */
enum { OFF, ON, FALLING, STOPPED };
static const char *STATES[] = {"disarmed", "armed", "falling", "stopped"};

int main(int n_argument, char **arguments) {
  void *socket = zmq_socket(zmq_ctx_new(), ZMQ_DEALER);
  int few = 16, one = 1, may_arm = 0, state = OFF;
  Output output = {"", {0.0, -1.0}}, came; /* none yet */
  Reply told = {0.0, 0.0, STATES[OFF], ""};
  double due = now(), fell = 0.0, fell_from = 0.0;
  zmq_setsockopt(socket, ZMQ_SNDHWM, &few, sizeof few);
  zmq_setsockopt(socket, ZMQ_IMMEDIATE, &one, sizeof one);
  if (zmq_connect(socket, n_argument > 1 ? arguments[1] : "tcp://127.0.0.1:5563")) return 1;
  for (;;) {
    zmq_poll(&(zmq_pollitem_t){socket, 0, ZMQ_POLLIN, 0}, 1, fmax(0.0, 1e-6 * (due - now())));
    int heard = 0;
    Output next;
    for (int k = 0, found; k < 64 && (found = receive(socket, &next)) >= 0; k++)
      if (found) came = next, heard = 1; /* the newest of all that have come */
    int new = heard && strcmp(came.session, output.session);
    int old = now() - output.is[SENT] > 1e6 * output.is[VALID]; /* looked at before what came is taken */
    if (state == ON && (old || new))
      state = FALLING, told.fault = old ? "too old" : "another session", fell = now(), fell_from = told.torque;
    int taken = heard && (new || came.is[SEQ] > output.is[SEQ]);
    if (taken) {
      output = came, may_arm = may_arm && !new;
      int valid = now() - output.is[SENT] <= 1e6 * output.is[VALID];
      if (valid && !output.is[ARMED]) may_arm = 1, state = state == FALLING ? FALLING : OFF;
      else if (valid && may_arm && state == OFF) state = ON, told.fault = "", may_arm = 0;
    }
    if (now() < due && !(taken && output.is[ANSWER])) continue;
    double most = state == ON ? fmin(LIMIT, output.is[MOST]) : 0.0;
    due = now() + TICK;
    told.torque = fmax(-most, fmin(most, output.is[TORQUE]));
    if (state == FALLING) {
      told.torque = fell_from * fmax(0.0, 1.0 - (now() - fell) / RAMP);
      state = told.torque == 0.0 ? STOPPED : FALLING;
    }
    told.state = STATES[state];
    reply(socket, &output, told);
    told.seq++;
  }
}
