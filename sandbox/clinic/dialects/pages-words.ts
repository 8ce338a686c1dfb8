/** Words that a status has when it is written or asked for; `waiting` and the like come back as flags. */
export const WORDS_OF_STATUSES: ReadonlyMap<string, string> = new Map([
  ['booked', 'Booked'],
  ['confirmed', 'Confirmed'],
  ['waiting', 'CheckedIn'],
  ['in_care', 'InProgress'],
  ['done', 'Completed'],
  ['cancelled', 'Cancelled'],
  ['absent', 'NoShow'],
]);

/** Status and flags on the wire for each documented status. */
const TOLD: Readonly<Record<string, { status: string; confirmed?: true; did_not_arrive?: true }>> = {
  Booked: { status: 'booked' },
  Confirmed: { status: 'booked', confirmed: true },
  CheckedIn: { status: 'booked', confirmed: true },
  InProgress: { status: 'in_care', confirmed: true },
  Completed: { status: 'done' },
  Cancelled: { status: 'booked' },
  NoShow: { status: 'booked', did_not_arrive: true },
};

/** Replaces the status of an appointment with this dialect's status and flags: `confirmed`, `arrivedAt`, `didNotArrive`, `cancelledAt`. */
export function toFlags(appointment: Record<string, unknown>): Record<string, unknown> {
  const { status, confirmedAt: _, checkedInAt, ...rest } = appointment;
  const told = TOLD[String(status)];
  if (told === undefined) return appointment;
  return {
    ...rest,
    status: told.status,
    confirmed: told.confirmed ?? false,
    didNotArrive: told.did_not_arrive ?? false,
    arrivedAt: checkedInAt ?? null,
  };
}

/** Combines the status and flags of a body into one documented status; a body without flags has only the status. */
export function statusOfFlags(body: Record<string, unknown>): Record<string, unknown> {
  const { status, confirmed, didNotArrive, arrivedAt, cancelledAt } = body;
  if (typeof status !== 'string') return body;
  return { ...body, status: flagged() ?? WORDS_OF_STATUSES.get(toWord(status)) ?? status };

  function flagged(): string | undefined {
    if (typeof cancelledAt === 'string') return 'Cancelled';
    if (didNotArrive === true) return 'NoShow';
    if (status !== 'Booked') return undefined;
    if (typeof arrivedAt === 'string') return 'CheckedIn';
    return confirmed === true ? 'Confirmed' : undefined;
  }
}

/** `PartiallyPaid` as `partially_paid`. */
export function toWord(value: string): string {
  return value.replaceAll(/(?<=.)[A-Z]/g, (letter) => `_${letter}`).toLowerCase();
}

/** `partially_paid` as `PartiallyPaid`. */
export function asDocumentedWord(word: string): string {
  return word.replaceAll(/(?:^|_)([a-z])/g, (_, letter: string) => letter.toUpperCase());
}
