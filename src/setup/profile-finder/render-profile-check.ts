import { renderTable, wrap } from '../../operator/cli/table.ts';
import { byWeight, type Finding } from './findings.ts';
import type { ProfileCheck, RowsRead } from './profile-check.ts';

/** Largest number of missing operations that the output lists. */
const NAMED = 3;

/** Renders a check: open decisions, differences, coverage, the profile, and values read from some records. */
export function renderProfileCheck(check: ProfileCheck): string {
  const { findings, toDecide, remarks, omitted, rows } = check;
  const differs = findings.filter(({ result }) => result === 'differs');
  return [
    ...(toDecide.length === 0 ? [] : [renderAsked(toDecide)]),
    ...(differs.length === 0 ? ['No differences from the profile.'] : [renderDiffering(differs)]),
    ...renderAbsentRoutes(findings),
    renderCounts(findings),
    ...(omitted.length === 0
      ? []
      : [wrap(`No profile can contain these values together; left out: ${omitted.join(', ')}`)]),
    ...remarks.map((remark) => wrap(`Not read: ${remark}.`)),
    ...(differs.length === 0 ? [] : [`Proposed profile:\n\n${check.proposedProfile.trimEnd()}`]),
    ...(rows === null ? [] : [renderRows(rows)]),
  ].join('\n\n');
}

function renderAsked(findings: readonly Finding[]): string {
  const asks = findings.map(({ location, ask }) => wrap(`- ${location}: ${ask}`));
  return ["Decide, or ask the clinic's vendor; the most expensive mistakes first:", ...new Set(asks)].join('\n');
}

function renderDiffering(findings: readonly Finding[]): string {
  const columns = ['differs', 'profile', 'clinic', 'confidence'];
  return renderTable(
    columns,
    byWeight(findings).map(({ location, here, there, certainty }) => [location, here, there, certainty]),
  );
}

/** Renders missing routes in one line, because users rarely search for the missing routes. */
function renderAbsentRoutes(findings: readonly Finding[]): string[] {
  const routes = findings.flatMap(({ area, result, location }) =>
    area === 'routes' && result === 'absent' ? [location] : [],
  );
  if (routes.length === 0) return [];
  const more = routes.length > NAMED ? ' …' : '';
  const named = `${routes.slice(0, NAMED).join(', ')}${more}`;
  return [wrap(`Optional operations that were not found: ${routes.length} (${named}; full list: --json).`)];
}

function renderCounts(findings: readonly Finding[]): string {
  const areas = Map.groupBy(findings, ({ area }) => area);
  const rows = [...areas].map(([area, found]) => {
    const count = (result: Finding['result']) => `${found.filter((one) => one.result === result).length}`;
    return [area, count('fits'), count('differs'), count('undecided'), count('absent')];
  });
  return renderTable(['area', 'fits', 'differs', 'to ask', 'not stated'], rows);
}

function renderRows(read: RowsRead): string {
  const columns = ['field', 'clinic field', 'clinic value', 'read as'];
  const fields = read.fields.map(({ field, path, value, read: made }) => [field, path ?? '–', value, made]);
  const notRead = read.notRead.length === 0 ? [] : [wrap(`Not read in this record: ${read.notRead.join(', ')}.`)];
  return [...headOf(read), renderTable(columns, fields), ...notRead].join('\n');
}

function headOf({ of, rows, read, unusable, statuses }: RowsRead): string[] {
  if (of === 'document') {
    return [
      wrap('Values that this profile reads in a record of the document’s examples (for real records: --records):'),
    ];
  }
  const asides = unusable.map(({ code, field, rows: count }) => `${count} skipped (${code}: ${field})`);
  const states = statuses.map(({ status, values, rows: count }) => `${count} ${status} (${values.join(', ')})`);
  return [
    wrap(`Result of this profile for ${rows} records: ${[`${read} read`, ...asides].join(', ')}.`),
    wrap(`States: ${states.join(', ') || 'none'}. Example record, with masked patient values:`),
  ];
}
