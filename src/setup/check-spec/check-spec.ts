import type { ClinicProfile } from '../../clinic/schema/profile.ts';
import { answerHeaders } from '../../core/http/headers.ts';
import { MirrorError } from '../../core/model/errors.ts';
import { parseJson } from '../../core/model/json.ts';
import type { JsonObject } from '../../described-api/paths.ts';
import { message } from '../../messages/message.ts';
import { rowsIn } from '../profile-finder/answer-rows.ts';
import { compareSpecification } from '../profile-finder/compare.ts';
import { readSpecification } from '../profile-finder/openapi.ts';
import { concluded, type ProfileCheck, readRows } from '../profile-finder/profile-check.ts';
import type { ValueSchema } from '../profile-finder/values.ts';

/**
 * Compares a clinic's OpenAPI document with a profile.
 * @param document JSON or YAML text
 * @param answer an answer of the appointment list as sample; default: a record made from the document's examples
 * @throws MirrorError `settings`, codes `spec-too-large`, `spec-unreadable`, `spec-not-openapi`, `record-file-unreadable`
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

function rowsOf(answer: string): readonly unknown[] {
  const body = parseJson(answer);
  const rows = rowsIn({ status: 200, body, headers: answerHeaders([]) }, 'appointments')?.rows;
  if (rows !== undefined) return rows;
  throw new MirrorError(message('record-file-unreadable'), {
    actor: 'settings',
    code: 'record-file-unreadable',
    retry: 'never',
    remedy: message('record-file-unreadable.remedy'),
  });
}

/** Returns a record from the document's examples, otherwise from types. */
function exampleRow({ members }: ValueSchema): JsonObject {
  return Object.fromEntries(
    [...members].flatMap(([name, schema]) => {
      const value = schema.members.size > 0 ? exampleRow(schema) : exampleValue(schema);
      return value === undefined ? [] : [[name, value]];
    }),
  );
}

/** 20 March 2026, 10:00 in Rome. */
const EXAMPLE_SECONDS = Date.parse('2026-03-20T10:00:00+01:00') / 1_000;

function exampleValue({ example, words, epochUnit, type, format }: ValueSchema): unknown {
  if (example !== null) return example;
  if (words !== null) return type === 'integer' ? Number(words[0]) : words[0];
  if (epochUnit !== null) return epochUnit === 'ms' ? EXAMPLE_SECONDS * 1_000 : EXAMPLE_SECONDS;
  if (format === 'date-time') return '2026-03-20T10:00:00+01:00';
  if (format === 'date') return '2026-03-20';
  return type === 'boolean' ? false : undefined;
}
