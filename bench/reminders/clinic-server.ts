import { createServer } from 'node:http';
import { json } from 'node:stream/consumers';
import { listenNode, type RunningServer } from '../../sandbox/kit/listen.ts';
import { tenantOf, type World } from './world.ts';
import type { TrueAppointment, TruePatient } from './world-plan.ts';

/** A worker's request to the clinic of one tenant. */
export type ClinicQuestion =
  | { tenant: string; ask: 'list'; fromAt: number; toAt: number }
  | { tenant: string; ask: 'appointment' | 'patient'; id: string };

/** What the clinic says. `now` is the simulated moment in which the answer arrives. */
export type ClinicAnswer = { now: number } & (
  | { list: TrueAppointment[]; isWhole: boolean }
  | { appointment: TrueAppointment | null }
  | { patient: TruePatient | null }
);

const APPOINTMENT_MS = 1_800_000;
/** A list that lacks some lacks each this many-th row. */
const LEFT_OUT = 9;

/** Serves the true data to workers: late, truncated, or not at all, as the world requires. */
export function serveClinic(world: World): Promise<RunningServer> {
  const server = createServer(async (request, response) => {
    const question = (await json(request)) as ClinicQuestion;
    world.now += world.slowAnswersMs.shift() ?? 0;
    if (world.isAway) return void response.writeHead(503).end();
    response.writeHead(200, { 'content-type': 'application/json' });
    response.end(JSON.stringify({ now: world.now, ...answerOf(world, question) }));
  });
  return listenNode(server);
}

function answerOf(world: World, question: ClinicQuestion) {
  if (question.ask === 'patient') return { patient: world.patients.get(question.id) ?? null };
  if (question.ask !== 'list') {
    const appointment = world.appointments.get(question.id);
    return { appointment: appointment !== undefined && tenantOf(appointment) === question.tenant ? appointment : null };
  }
  const all = [...world.appointments.values()].filter(
    (one) =>
      tenantOf(one) === question.tenant &&
      one.startAt < question.toAt &&
      one.isDeleted !== true &&
      one.startAt + APPOINTMENT_MS > question.fromAt,
  );
  const { nextList } = world;
  world.nextList = 'whole';
  const list = nextList === 'whole' ? all : all.filter((_, index) => index % LEFT_OUT !== 0);
  return { list, isWhole: nextList !== 'truncated' };
}
