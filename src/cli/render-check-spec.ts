import type { ProfileCheck } from '../profile-finder/check-spec.ts';
import type { Finding } from '../profile-finder/specification/findings.ts';
import { renderTable, wrap } from './table.ts';

/** A check as text: how much fits, what differs, what to ask, and the profile that says it. */
export function renderProfileCheck(check: ProfileCheck): string {
  const { findings, remarks, leftOut } = check;
  const of = (verdict: Finding['verdict']) => findings.filter((finding) => finding.verdict === verdict);
  const [differs, undecided] = [of('differs'), of('undecided')];
  return [
    renderCounts(findings),
    ...(differs.length === 0 ? ['Nothing differs from the profile.'] : [renderDiffering(differs)]),
    ...(undecided.length === 0 ? [] : [renderAsked(undecided)]),
    ...(leftOut.length === 0
      ? []
      : [wrap(`No profile can hold all of this together; left out: ${leftOut.join(', ')}`)]),
    ...remarks.map((remark) => wrap(`Not read: ${remark}.`)),
    ...(differs.length === 0 ? [] : [`The profile that says it:\n\n${check.proposedProfile.trimEnd()}`]),
  ].join('\n\n');
}

function renderCounts(findings: readonly Finding[]): string {
  const areas = Map.groupBy(findings, ({ area }) => area);
  const rows = [...areas].map(([area, found]) => {
    const count = (verdict: Finding['verdict']) => `${found.filter((one) => one.verdict === verdict).length}`;
    return [area, count('fits'), count('differs'), count('undecided'), count('absent')];
  });
  const number = (heading: string) => ({ heading, right: true });
  return renderTable([{ heading: 'area' }, ...['fits', 'differs', 'to ask', 'not told'].map(number)], rows);
}

function renderDiffering(findings: readonly Finding[]): string {
  const columns = ['differs', 'profile', 'clinic', 'how sure'].map((heading) => ({ heading }));
  const rows = findings.map(({ place, here, there, certainty }) => [place, here, there, certainty]);
  const unsayable = findings.filter(({ verdict, ask }) => verdict === 'differs' && ask !== null);
  const asks = [...new Set(unsayable.map(({ place, ask }) => `${place}: ${ask}`))];
  return [renderTable(columns, rows), ...asks.map((ask) => wrap(`- ${ask}`))].join('\n');
}

function renderAsked(findings: readonly Finding[]): string {
  return ['To ask the clinic:', ...findings.map(({ place, ask }) => wrap(`- ${place}: ${ask}`))].join('\n');
}
