import { seededRandom } from '../../../sandbox/kit/random.ts';
import { type Draw, drawFrom, type Given } from '../faults/fault.ts';
import type { Script, Step } from '../script/generate.ts';
import { REFUSALS } from '../world/refusals.ts';
import type { Mechanism } from './mechanisms.ts';

const WORK_SEEDS = 1_000_000;
/** Longer than from the first miss of a record to the second. */
const SECOND_MISS_MS = 12_000;
/** About all tenants, until everything comes to rest. */
const LASTING = { tenant: 2, lasting: true };

/** Faults that each safety protects against, in an order that harms a daemon without the safety. */
const FOCUS: Readonly<Record<Mechanism, (draw: Draw) => Partial<Script> & { steps: Step[] }>> = {
  fencing: (draw) => ({
    daemons: 2,
    steps: late(draw, 'settlement', draw.pick(['google', 'graph', 'caldav'])),
  }),
  'lease-deadline': (draw) => ({ daemons: 2, steps: late(draw, 'deaf', 'hubspot') }),
  epoch: (draw) => ({ steps: [step(draw, 'redis-back-reminder', { tenant: draw.upTo(2), agenda: draw.upTo(3) })] }),
  reservation: (draw) => ({ scarce: true, warm: false, steps: [step(draw, 'pause', { ms: 0 })] }),
  guard: (draw) => ({
    steps: [
      step(draw, draw.pick(['list-empty', 'list-truncated']), { ...LASTING, singles: true, keep: 2, betrayed: false }),
      step(draw, 'pause', { ms: SECOND_MISS_MS }),
      step(draw, 'pause', { ms: 0 }),
    ],
  }),
  confirmation: (draw) => ({
    steps: [
      step(draw, 'rows-dropped', { ...LASTING, singles: true, share: 0.15, once: true, seed: draw.upTo(WORK_SEEDS) }),
      step(draw, 'pause', { ms: 0 }),
    ],
  }),
  'own-keys': (draw) => ({
    steps: Array.from({ length: 4 }, () =>
      step(draw, 'answer-lost', {
        ...{ service: draw.pick(['google', 'graph', 'caldav']), side: 'before', write: true, fresh: false },
        ...{ skip: draw.upTo(2), times: 2 },
      }),
    ),
  }),
  'names-decide': (draw) => ({
    steps: [0, 1, 2].map((target) =>
      step(draw, 'marks-lost', { target, first: draw.upTo(9), many: draw.pick([3, 100]), how: 'only' }),
    ),
  }),
  'more-told': (draw) => ({
    steps: [
      step(draw, 'list-more-told', {
        ...{ ...LASTING, singles: true, keep: draw.between(17, 20) },
        sign: draw.pick(['altre', 'totale', 'token', 'wrapped']),
      }),
      step(draw, 'pause', { ms: SECOND_MISS_MS }),
      step(draw, 'pause', { ms: 0 }),
    ],
  }),
  'prove-writes': (draw) => ({
    steps: [step(draw, 'redis-refuses', { how: draw.pick(REFUSALS), afterMs: draw.upTo(500) })],
  }),
  'emptying-nothing': (draw) => ({
    steps: [0, 1].map((tenant) =>
      step(draw, 'patient-thin', {
        tenant,
        which: draw.upTo(20),
        form: draw.pick(['thin', 'names', 'id']),
        later: false,
      }),
    ),
  }),
  merges: (draw) => ({
    steps: [0, 1].map((tenant) =>
      step(draw, 'patients-merged', { tenant, which: draw.upTo(20), into: draw.between(1, 9) }),
    ),
  }),
  unscheduled: (draw) => ({
    steps: [0, 1].map((tenant) =>
      step(draw, 'no-start', { tenant, which: draw.upTo(20), returns: 'never', moved: false }),
    ),
  }),
  completeness: (draw) => ({
    steps: [
      step(draw, 'list-truncated', { ...LASTING, singles: true, keep: draw.between(17, 20), betrayed: true }),
      step(draw, 'pause', { ms: SECOND_MISS_MS }),
      step(draw, 'pause', { ms: 0 }),
    ],
  }),
};

function late(draw: Draw, how: string, service: string): Step[] {
  return Array.from({ length: 2 }, () => ({
    ...step(draw, 'late', { how, service, tenant: 0, which: draw.upTo(9) }),
    pieces: 0,
  }));
}

function step(draw: Draw, fault: string, given: Given): Step {
  return { fault, given, work: draw.upTo(WORK_SEEDS), pieces: draw.between(6, 9), awaits: draw.between(60, 120) };
}

/** The script of a seed that goes for what a safety catches. */
export function focusedScript(mechanism: Mechanism, seed: number): Script {
  const draw = drawFrom(seededRandom(seed));
  const focus = FOCUS[mechanism];
  if (focus === undefined) throw new RangeError(`nothing is known that goes for "${mechanism}"`);
  return { seed, daemons: draw.pick([1, 2]), shortTokens: false, scarce: false, warm: true, ...focus(draw) };
}
