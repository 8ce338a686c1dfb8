import type { ClinicProfile } from '../clinic/schema/profile.ts';
import { MirrorError } from '../model/errors.ts';
import { parseJson } from '../model/json.ts';
import { sentenceOfRemark } from '../model/reading-remarks.ts';
import { compareSpecification } from './compare.ts';
import { byWeight, type Comparison, type Finding, fitsAll } from './findings.ts';
import { readSpecification } from './openapi.ts';
import { propose } from './propose.ts';
import { rowsIn } from './questions.ts';
import { exampleRow, type RowsRead, readRows } from './rows-read.ts';

/** A clinic's API against a profile, as people see it. */
export interface ProfileCheck {
  /** Nothing differs, and nothing is open without which rows would be read wrong. */
  fits: boolean;
  /** Of the findings those that a person must decide or ask, what costs most when it is wrong first. */
  toDecide: readonly Finding[];
  findings: readonly Finding[];
  /** YAML of a profile that says what was found; it loads as it is. */
  proposedProfile: string;
  /** Places whose findings no profile can hold together. */
  leftOut: readonly string[];
  /** What could not be read. */
  remarks: readonly string[];
  /** What the proposed profile reads of some rows; null where there are none. */
  rows: RowsRead | null;
}

/**
 * Compares a clinic's own OpenAPI document with a profile.
 * @param document its text, JSON or YAML
 * @param answer the text of an answer of the list of appointments, whose rows are read; without it a row is made of the document's examples
 * @throws MirrorError `settings`, codes `spec-too-large`, `spec-unreadable`, `spec-not-openapi`, `rows-unreadable`
 */
export function checkSpecification(document: string, profile: ClinicProfile, answer?: string): ProfileCheck {
  const specification = readSpecification(document);
  const compared = compareSpecification(specification, profile);
  return concluded(compared, profile, specification.remarks, (proposed) => {
    if (answer !== undefined) return readRows(rowsOf(answer), proposed);
    const row = compared.appointment;
    return row === null ? null : readRows([exampleRow(row)], proposed, 'document');
  });
}

/** A comparison with the profile that it proposes. */
export function concluded(
  { findings, changes }: Pick<Comparison, 'findings' | 'changes'>,
  profile: ClinicProfile,
  remarks: readonly string[],
  rowsRead: (proposed: ClinicProfile) => RowsRead | null,
): ProfileCheck {
  const asked = byWeight(findings.filter(({ ask }) => ask !== null));
  const { profile: proposed, yaml, leftOut } = propose(profile, changes, asked);
  const rows = rowsRead(proposed);
  const told = { toDecide: asked, findings, proposedProfile: yaml, leftOut };
  const shown = (rows?.remarks ?? []).map(sentenceOfRemark);
  return { fits: fitsAll(findings), ...told, remarks: [...remarks, ...shown], rows };
}

function rowsOf(answer: string): readonly unknown[] {
  const body = parseJson(answer);
  const rows = rowsIn({ status: 200, body, headers: new Headers() }, 'appointments')?.rows;
  if (rows !== undefined) return rows;
  throw new MirrorError('the file of rows is no answer of a list of appointments', {
    actor: 'settings',
    code: 'rows-unreadable',
    retry: 'never',
    remedy: 'save what the clinic answers to GET …/appointments, as JSON',
  });
}
