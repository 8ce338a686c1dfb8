import type { MirrorError } from '../../core/model/errors.ts';
import { fieldNamesIn, textsAt } from '../../described-api/errors.ts';
import { valueAt } from '../../described-api/paths.ts';
import { COMMON, common, contract, defineErrors, NO_WORDS, refusal, remote, settings } from '../errors.ts';
import type { WireResponse } from '../wire.ts';
import type { CrmDescription, Meaning } from './description.ts';
import { NAMED_FIELDS } from './limits.ts';

/**
 * Errors of described CRMs, identified by the description's meanings of codes and statuses (`words`), otherwise by status.
 * @see https://www.rfc-editor.org/rfc/rfc9110#section-15
 */
export const errors = defineErrors('rest-crm', NO_WORDS, {
  ...common('answer-missing', 'contact-missing'),
  'login-refused': { ...COMMON['login-refused'], words: ['login'], ambiguous: false },
  'crm-forbidden': settings.target({ statuses: [403], words: ['forbidden'], ambiguous: false }),
  'rate-limited': { ...COMMON['rate-limited'], words: ['throttled'] },
  'server-unavailable': remote.target({ statuses: [408, '5xx'], ambiguous: true }),
  'server-error': { ...COMMON['server-error'], statuses: [423, 500], words: ['retry'], ambiguous: true },
  'changed-meanwhile': { ...COMMON['changed-meanwhile'], words: ['changed'], ambiguous: false },
  'several-matches': settings.item({ retry: 'later', words: ['several'], ambiguous: false }),
  'option-missing': settings.target(),
  'record-refused': refusal.item({
    statuses: [400, 409, 415, 422],
    words: ['refused'],
    ambiguous: false,
    refusesValues: true,
    detail: 'Includes the names of the fields if the description defines their path. Compare mapping and CRM',
  }),
  'record-too-large': refusal.item({ statuses: [413] }),
  'record-forbidden': settings.item(),
  'record-without-id': contract.item(),
  'error-in-answer': contract.item({
    statuses: ['2xx'],
    ambiguous: true,
    detail: 'Add its codes to `errors.codes` of the description',
  }),
  'unexpected-status': { ...COMMON['unexpected-status'], scope: 'target' },
  'unexpected-answer': contract.target(),
  'write-not-shown': remote.target({ code: 'unexpected-answer', ambiguous: true }),
  'key-filter-ignored': settings.target(),
  'crm-property-missing': settings.target(),
  'stream-not-described': settings.target(),
  'crm-path-missing': settings.target({ retry: 'later', statuses: [404, 410], provesGone: true }),
  'crm-question-refused': settings.target({ retry: 'later', ambiguous: false }),
  'crm-paging-broken': contract.target(),
});

/**
 * Returns the error of an unsuccessful response: by the description's table of codes, then its table of statuses, then the status. The
 * CRM's message is not used, since it may contain patient data.
 * @param allowedNames property names that the error may repeat
 */
export function toMirrorError(
  answer: WireResponse,
  described: CrmDescription['errors'],
  allowedNames: ReadonlySet<string>,
): MirrorError {
  const meaning = described.codes[codeOf(answer.body, described)] ?? described.statuses[String(answer.status)] ?? null;
  return ofMeaning(meaning, answer, fieldsIn(answer.body, described, allowedNames));
}

/** Returns the error of one refused object in a batch. @param allowedNames property names that the error may repeat */
export function rowRefused(
  row: unknown,
  described: CrmDescription['errors'],
  allowedNames: ReadonlySet<string>,
): MirrorError {
  const meaning = described.codes[codeOf(row, described)] ?? 'refused';
  return ofMeaning(meaning, { status: 200, body: row, retryAfterMs: null }, fieldsIn(row, described, allowedNames));
}

/** If the status is more specific than the meaning, the status takes precedence. */
function ofMeaning(meaning: Meaning | null, answer: WireResponse, fields: readonly string[]): MirrorError {
  const byStatus = errors.kindOf(answer);
  const isByStatus =
    (meaning === 'refused' && byStatus === 'record-too-large') ||
    (meaning === 'retry' && byStatus === 'server-unavailable');
  const reported = isByStatus || meaning === null ? byStatus : errors.kindByWords([meaning])!;
  // An error caused by a value occurs at each attempt.
  const kind = meaning === null && reported === 'server-error' && fields.length > 0 ? 'record-refused' : reported;
  const names = kind === 'record-refused' ? fields : [];
  const retryAfterMs = errors.kinds[kind].actor === 'remote' ? answer.retryAfterMs : null;
  return errors.make(kind, { status: answer.status, retryAfterMs, names, refuses: names });
}

function fieldsIn(
  body: unknown,
  { detailPaths, fieldsInWords }: CrmDescription['errors'],
  allowedNames: ReadonlySet<string>,
): string[] {
  const inWords = fieldsInWords.map(({ at, before, after }) => {
    const [, ...behind] = String(valueAt(body, at) ?? '').split(before);
    return behind.at(-1)?.split(after, 1) ?? [];
  });
  const details = detailPaths.flatMap((path) => {
    const detail = valueAt(body, path);
    // A text that is no property of the CRM is not repeated.
    const texts = (Array.isArray(detail) ? detail : [detail]).filter((one) => typeof one === 'string');
    return [...texts, ...fieldNamesIn(detail)];
  });
  const reported = [...details, ...inWords.flat()];
  return [...new Set(reported)].filter((name) => allowedNames.has(name)).slice(0, NAMED_FIELDS);
}

/** Checks whether a response with a success status contains an error in its body. */
export function hasError({ body }: WireResponse, described: CrmDescription['errors']): boolean {
  return described.present.some((path) => {
    const value = valueAt(body, path);
    if (value === undefined || value === null || value === false || value === '') return false;
    return !Array.isArray(value) || value.length > 0;
  });
}

function codeOf(body: unknown, { codePaths }: CrmDescription['errors']): string {
  return textsAt(body, codePaths)[0] ?? '';
}
