import type { Logger } from '../core/log/logger.ts';
import type { MirrorError } from '../core/model/errors.ts';
import { MINUTE_MS } from '../core/model/time.ts';
import type { ReadingRequest, Source } from '../engine/ports.ts';
import type { TenantConfiguration } from '../settings/configuration.ts';
import { DEFAULT_RESCHEDULE_MINUTES } from '../settings/reminder-schema.ts';
import { indexByAgenda } from './agenda-index.ts';
import { ClinicReading, type ReadingContext } from './clinic-reading.ts';
import type { ClinicReader } from './clinic-requests.ts';
import type { ClinicTarget } from './cycle-input.ts';
import type { CycleFollower, ReadingScope } from './followers.ts';
import { windowOf } from './mapping-sources.ts';
import { isNext48hDue, paceOf } from './pace.ts';
import { type ReadClinic, readClinic } from './read-clinic.ts';
import type { RunReport } from './runs.ts';
import { findDueStreams, NO_STREAMS, readAllStreams } from './streams.ts';

/** What a clinic's source uses. */
export interface ClinicSourceParts extends ClinicReader {
  configuration: Pick<TenantConfiguration, 'language' | 'zone' | 'reminders'>;
  targets: ReadonlyMap<string, ClinicTarget>;
  followers: readonly CycleFollower[];
  log: Logger;
  outages: { causeOf(error: MirrorError): string | null };
  /** Interval of cycles. */
  pullEveryMs: number;
}

/** A clinic as the source of its targets. Cycles that start late read only the next two days, as far as that suffices. */
export function createClinicSource(parts: ClinicSourceParts): Source<ClinicReading> {
  const { memory } = parts;
  return {
    async open(pacedAt) {
      const [last] = await parts.runs.list(1);
      return {
        mayBePart: pacedAt !== null && isNext48hDue(paceOf(last, pacedAt, parts.pullEveryMs)),
        unconfirmableCycles: last?.unconfirmableCycles ?? 0,
        read: (request: ReadingRequest<ClinicTarget>, signal) => read(parts, request, last, signal),
      };
    },
    distrust: () => memory.appointments.distrust(),
    invalidate: () => memory.appointments.invalidate(),
    isInvalidated: () => memory.appointments.isInvalidated,
    learn({ appointments }, gaps) {
      // The next whole reading searches for missing records again, and an incomplete list is not reused from memory.
      if (appointments !== undefined && appointments.unconfirmed + appointments.unlisted > 0)
        memory.appointments.distrust();
      // The clinic may soon add a missing id: do not wait an hour for the catalogue's next read.
      if ([...gaps.values()].flat().some(({ code }) => code.endsWith('-unknown'))) parts.clinic.invalidate();
    },
  };
}

async function read(
  parts: ClinicSourceParts,
  { targets, reach, restored, isLookOnly, justRead, progress }: ReadingRequest<ClinicTarget>,
  last: RunReport | undefined,
  signal: AbortSignal,
): Promise<ClinicReading> {
  progress('reading the clinic');
  const { followers, memory } = parts;
  const now = parts.clock();
  const extraScopes: ReadingScope[] = [
    ...followers.map((follower) => follower.readingScope(now)),
    // The agendas of restored records may feed no target.
    ...restored.map((target) => ({ window: windowOf(target, now), agendas: 'all' as const })),
  ];
  const lastRun = last === undefined ? {} : { last };
  const streams = reach === 'near' ? NO_STREAMS : await slowLists();
  const answers = await readClinic(parts, targets, { extraScopes, streams, ...lastRun, reach }, signal);
  if (reach === 'near') return readingOf(parts, targets, answers);
  const byAgenda = indexByAgenda(answers.snapshot.records, memory.byAgenda);
  memory.byAgenda = memory.appointments.isInvalidated ? null : byAgenda;
  return new ClinicReading(answers, byAgenda, contextOf(parts, targets));

  /** A separate job reads the slow lists, and missing ones are left out. Read-only use reads everything itself. */
  async function slowLists() {
    if (isLookOnly) return await readAllStreams(parts, targets, progress, signal);
    return (await findDueStreams(parts, targets, { justRead, ...(last && { lastRun: last }) })).streams;
  }
}

/** Returns the clinic's answers as a reading, outside a cycle. */
export function readingOf(
  parts: Omit<ClinicSourceParts, 'outages' | 'pullEveryMs' | 'clock' | 'memory' | 'runs'>,
  targets: readonly ClinicTarget[],
  answers: ReadClinic,
): ClinicReading {
  return new ClinicReading(answers, null, contextOf(parts, targets));
}

function contextOf(
  { clinic, configuration, followers, log, targets: all }: Parameters<typeof readingOf>[0],
  targets: readonly ClinicTarget[],
): ReadingContext {
  const { language, zone, reminders } = configuration;
  const rescheduleWithinMs = (reminders?.rescheduleWithinMinutes ?? DEFAULT_RESCHEDULE_MINUTES) * MINUTE_MS;
  return { clinic, targets, all: [...all.values()], followers, locale: { language, zone }, rescheduleWithinMs, log };
}
