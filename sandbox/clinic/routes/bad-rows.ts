/** The ways in which a row can be malformed. */
const SPOILERS: Readonly<Record<string, (row: Record<string, unknown>) => unknown>> = {
  'missing-id': ({ id: _, ...rest }) => rest,
  'null-id': (row) => ({ ...row, id: null }),
  'unknown-status': (row) => ({ ...row, status: 'AwaitingInsurance' }),
  'naive-time': (row) => ({ ...row, start: withoutOffset(row.start), end: withoutOffset(row.end) }),
  'impossible-time': (row) => ({ ...row, start: '2026-02-30T25:61:00+01:00' }),
  'end-before-start': (row) => ({ ...row, start: row.end, end: row.start }),
  'wrong-types': (row) => ({ ...row, start: 1_774_767_600, patientId: { value: row.patientId }, status: 7 }),
  'not-an-object': () => 'row unavailable',
};

/** Names for the fault's `variants`. */
export const BAD_ROW_VARIANTS: readonly string[] = Object.keys(SPOILERS);

/**
 * `{kind: 'bad-rows', variants?}`: the first rows of the page are malformed, one per variant; by default only the first,
 * without its id.
 */
export function spoilRows(rows: object[], fault: { kind: string } | undefined): unknown[] {
  if (fault === undefined) return rows;
  const variants = 'variants' in fault && Array.isArray(fault.variants) ? fault.variants : ['missing-id'];
  return rows.map((row, index) => {
    const spoil = SPOILERS[String(variants[index])];
    return spoil === undefined ? row : spoil({ ...row });
  });
}

function withoutOffset(time: unknown): unknown {
  return typeof time === 'string' ? time.replace(/(Z|[+-]\d{2}:\d{2})$/, '') : time;
}
