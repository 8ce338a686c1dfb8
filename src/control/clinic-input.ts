import { basename } from 'node:path';
import { OPERATION_CALLS, type OperationInput, valuesOf } from '../clinic/api.ts';
import { pdfFile } from '../clinic/http/call.ts';
import type { JsonObject } from '../clinic/http/rows.ts';
import { MirrorError } from '../model/errors.ts';
import { type ClinicQuestion, operationOf } from './clinic-question.ts';

/**
 * What an operation is called with. Whatever it does not take, and whatever it needs and lacks, is refused by name before the clinic is
 * asked anything.
 * @param tenantOf the clinic's id of the tenant
 * @throws MirrorError `settings`: codes `value-needed`, `not-taken`, `no-such-field`, `file-unusable`; `contract`, code `bad-value`
 */
export async function inputOf(
  tenantOf: (signal: AbortSignal) => Promise<string>,
  question: ClinicQuestion,
  signal: AbortSignal,
): Promise<OperationInput> {
  const { ids, parameters, pdf, resource } = question;
  const several = inputValues(question);
  const file = pdf === null ? null : await pdfFile(pdf, basename(pdf));
  const tenantId = resource === 'userInfo' ? '' : await tenantOf(signal);
  return { tenantId, ids, values: several[0] ?? {}, several, parameters, file };
}

function inputValues(question: ClinicQuestion): JsonObject[] {
  const { resource, values, parameters, pdf } = question;
  const { name } = operationOf(question);
  const call = OPERATION_CALLS[name];
  if (call === undefined) throw new Error(`no call for ${name}`);
  const { gives, takes, needs, takesSeveral, wantsFile } = call;
  const inputs: readonly JsonObject[] = isSeveral(values) ? values : [values];
  const [first = {}] = inputs;
  if (inputs.length !== 1 && !takesSeveral) throw notTaken('several objects in --data', 'give one');
  if (pdf !== null && !wantsFile) throw notTaken('--pdf', 'leave it out');
  if (parameters.length > 0 && (gives !== 'list' || takes !== null)) {
    const remedy = takes === null ? 'leave it out' : `give --data with some of: ${Object.keys(takes).join(', ')}`;
    throw notTaken(`--params with ${parameters.map(([name]) => name).join(', ')}`, remedy);
  }
  const missing = needs.filter((name) => (first[name] ?? null) === null);
  if (missing.length === 0) {
    const written = inputs.map((each) => valuesOf(takes ?? {}, each));
    for (const each of written) call.check(each);
    return written;
  }
  const example = JSON.stringify(Object.fromEntries(missing.map((name) => [name, '…'])));
  throw new MirrorError(`this operation of ${resource} needs ${missing.join(' and ')}`, {
    actor: 'settings',
    code: 'value-needed',
    retry: 'never',
    remedy: `give them as --data '${example}', instants as 2026-03-29T10:00:00+01:00`,
  });
}

function isSeveral(values: ClinicQuestion['values']): values is readonly JsonObject[] {
  return Array.isArray(values);
}

/** The error of something that an operation can't be given. */
export function notTaken(what: string, remedy: string): MirrorError {
  return new MirrorError(`this operation does not take ${what}`, {
    actor: 'settings',
    code: 'not-taken',
    retry: 'never',
    remedy,
  });
}
