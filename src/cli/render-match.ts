import type { MatchResult } from '../features/match/apply.ts';
import type { MatchView } from '../features/match/propose.ts';
import { renderTable, renderTime, wrap } from './table.ts';

/** What the codes of pairs that were left as they are mean. */
const WHY: Readonly<Record<string, string>> = {
  'patient-left-out': "the target's rules leave the patient out, or the clinic has them no more",
  'patient-has-contact': 'the patient has a contact of ours',
  'patient-changed': 'the patient is no longer as in the file',
  'contact-gone': 'the contact is not there any more',
  'contact-taken': "the contact carries another one's key or stamp",
  'contact-changed': 'the contact is no longer as in the file',
  'contact-not-ours': "the contact does not carry this patient's key",
};

/** What was found. @param file where it was written; null when it was not */
export function renderMatches(view: MatchView, file: string | null): string {
  const { tenant, target, connector, asOf, contacts, patients, alike, pairs, ambiguous, tooCommon } = view;
  const rows = [
    ['contacts that are not ours', contacts],
    ['patients without a contact of ours', patients],
    ['of these, patients who look like a contact', alike],
    ['pairs', pairs],
    ['of these, ambiguous: for a person to tell apart', ambiguous],
    ['addresses, telephones, names that too many share to tell anything', tooCommon],
  ].map((row) => row.map(String));
  const columns = [`${target} (${connector})`, ''];
  return [
    `Matches of ${tenant} as of ${renderTime(asOf)}`,
    '',
    renderTable(columns, rows),
    '',
    nextStep(view, file),
  ].join('\n');
}

function nextStep({ tenant, target, pairs }: MatchView, file: string | null): string {
  const command = `clinic-mirror match ${tenant} ${target}`;
  if (pairs === 0) return 'Nothing is to be decided.';
  if (file === null)
    return wrap(`Nothing was written. For the pairs, with patient data in them: ${command} --out <file>`);
  return wrap(
    `The pairs are in ${file}, which holds patient data: delete it when you are done. Write "adopt" into the column decision of those that are one person, then: ${command} --apply ${file}`,
  );
}

/** What became of a file. */
export function renderMatchResult(result: MatchResult, verb: 'apply' | 'undo'): string {
  const { tenant, target, approved, done, already, refused } = result;
  const what =
    verb === 'apply'
      ? `contacts are their patients' now; the next sync updates them`
      : `contacts are nobody's again; what a sync wrote into them stays, and the next one makes others for these patients`;
  const head = `${tenant} ${target}: of ${approved} approved, ${done} ${what}; ${already} were so already.`;
  if (refused.length === 0) return wrap(head);
  const rows = refused.map(({ line, record, why }) => [line, record, WHY[why] ?? why]);
  const columns = ['line', 'patient', 'why'];
  return [wrap(head), wrap(`Left as they are, ${refused.length}:`), renderTable(columns, rows)].join('\n');
}
