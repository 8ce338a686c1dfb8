import { isModestExpression, outlineExpression, REFUSED_FUNCTIONS } from './crm-expressions.ts';
import {
  CONSENT_PREFIX,
  CRM_SOURCES,
  type CrmStream,
  type CrmTransform,
  consentOf,
  crmSourceOf,
  DEFAULT_DAYS,
  kindAfter,
  type SourceKind,
  TRANSFORMS,
} from './crm-schema.ts';
import { FilePart, isMeant, question } from './describe-issue.ts';
import type { ConfigurationFault } from './faults.ts';

/** Names that the part for a CRM may refer to. */
export interface ConsentNames {
  /** Names of what patients agree to, by clinic client; null for one whose profile could not be read. */
  consents(clinicClient: string): readonly string[] | null;
}

/** One target's part for a CRM, as it stands in the file. */
interface CrmPart {
  crm: FilePart;
  stream: CrmStream;
  /** Null when the clinic's profile could not be read. */
  consents: readonly string[] | null;
}

type Faults = Generator<ConfigurationFault>;

/**
 * Checks of a target in a CRM between its parts and with the rest of the file: fields that there are, allowances of sensitive
 * ones, transforms that fit, expressions, and the target that holds the contacts. Reads the raw file and passes over what is
 * missing or of the wrong type, since the schema reports it.
 */
export function* checkCrm(target: FilePart, allowed: ConsentNames): Faults {
  const crm = target.at('crm');
  const stream = crm.at('stream').value ?? 'patients';
  if (crm.isMissing || !isStream(stream)) return;
  const consents = allowed.consents(String(target.file.valueAt(['clinic', 'client'])));
  const part = { crm, stream, consents };
  for (const rule of crm.matching('mapping.*')) yield* checkRule(part, rule);
  yield* checkSpelling(crm.at('mapping'));
  yield* checkAllowances(part);
  for (const consent of crm.matching('consents.*')) yield* checkConsent(part, consent, consent.text);
  yield* checkContacts(part, target);
  yield* checkDays(crm.at('derived'));
}

function isStream(stream: unknown): stream is CrmStream {
  return Object.keys(CRM_SOURCES).some((allowed) => allowed === stream);
}

function* checkRule(part: CrmPart, rule: FilePart): Faults {
  const from = rule.at('from');
  const expression = rule.at('expression').text;
  if (rule.text !== null) yield* checkField(part, rule, []);
  else if (from.text !== null) yield* checkField(part, from, transformsOf(rule));
  else if (expression !== null) yield* checkExpression(part, rule, expression);
}

/** Transforms of a rule; none when one of them is unknown, which the schema reports. */
function transformsOf(rule: FilePart): readonly CrmTransform[] {
  const { list } = rule.at('transforms');
  const isTransform = (word: unknown): word is CrmTransform => TRANSFORMS.some((transform) => transform === word);
  return list.every(isTransform) ? list : [];
}

/** @param field names it */
function* checkField(part: CrmPart, field: FilePart, transforms: readonly CrmTransform[]): Faults {
  const path = field.text?.trim() ?? '';
  const { stream, consents } = part;
  const source = crmSourceOf(stream, path);
  if (source === null) {
    const ofConsents = stream === 'patients' ? (consents ?? []).map((name) => `${CONSENT_PREFIX}${name}`) : [];
    const allowed = [...Object.keys(CRM_SOURCES[stream]), ...ofConsents];
    const ending = allowed.find((name) => name.endsWith(`.${path}`));
    const guess = ending === undefined ? question(path, allowed) : `${isMeant(ending)} `;
    yield field.fault(`${stream} have no field ${JSON.stringify(path)}`, `${guess}there are: ${allowed.join(', ')}`);
    return;
  }
  yield* checkConsent(part, field, consentOf(stream, path));
  if (source.sensitive) yield* checkAllowed(part, field, path);
  yield* checkTransforms(field, source.kind, transforms);
}

/** @param at where the name of the consent stands */
function* checkConsent({ consents }: CrmPart, at: FilePart, name: string | null): Faults {
  if (name === null || consents === null || consents.includes(name)) return;
  const list = consents.length === 0 ? 'there is no consent yet' : `there are: ${consents.join(', ')}`;
  const remedy = `${question(name, consents)}${list}; add it to patients.consents in the clinic profile`;
  yield at.fault(`there is no consent ${JSON.stringify(name)}`, remedy);
}

function* checkAllowed({ crm }: CrmPart, at: FilePart, path: string): Faults {
  if (crm.at('sensitive').names.includes(path)) return;
  const remedy = `add it to sensitive with the reason (who decided, and on what ground), or leave it out`;
  yield at.fault(`the field ${path} is sensitive, and no reason is given`, remedy);
}

function* checkTransforms(at: FilePart, kind: SourceKind, transforms: readonly CrmTransform[]): Faults {
  const after = kindAfter(kind, transforms);
  if (!('misfit' in after)) return;
  const fitting = TRANSFORMS.filter((transform) => !('misfit' in kindAfter(after.actual, [transform])));
  const remedy = fitting.length === 0 ? 'leave it out' : `what fits: ${fitting.join(', ')}`;
  yield at.fault(`the transform ${after.misfit} can't be applied to what is of the kind ${after.actual}`, remedy);
}

const KINDS: readonly SourceKind[] = ['text', 'number', 'boolean', 'date', 'instant'];

function* checkExpression(part: CrmPart, rule: FilePart, written: string): Faults {
  const where = rule.at('expression');
  const expression = written.trim();
  if (part.crm.at('expressions').value !== 'allowed') {
    const remedy = 'set expressions: allowed, or name a field in from';
    yield where.fault('expressions are refused in this target', remedy);
  }
  // Beyond its limits: the schema reports it.
  if (!isModestExpression(expression)) return;
  const outline = outlineExpression(expression);
  if (outline === null) {
    yield where.fault('is no JSONata expression', 'try it on try.jsonata.org, with invented data');
    return;
  }
  for (const name of outline.refused) {
    const remedy = `do without ${REFUSED_FUNCTIONS.map((one) => `$${one}`).join(', ')}`;
    yield where.fault(`the function $${name} is refused`, remedy);
  }
  for (const path of sensitiveOf(part)) if (outline.names.has(path)) yield* checkAllowed(part, where, path);
  const named = rule.at('kind').value ?? 'text';
  const kind = KINDS.find((one) => one === named);
  if (kind !== undefined) yield* checkTransforms(rule, kind, transformsOf(rule));
}

function sensitiveOf({ stream }: CrmPart): string[] {
  return Object.entries(CRM_SOURCES[stream]).flatMap(([path, { sensitive }]) => (sensitive ? [path] : []));
}

/** Salesforce and others take `Email` and `email` for one property: the second would overwrite the first. */
function* checkSpelling(mapping: FilePart): Faults {
  const { names } = mapping;
  for (const [index, property] of names.entries()) {
    const first = names.slice(0, index).find((other) => other.toLowerCase() === property.toLowerCase());
    if (first === undefined) continue;
    yield mapping.at(property).fault(`differs from ${first} by capital letters alone`, 'keep one of the two');
  }
}

/** An allowance must be of a sensitive field and be used, so that the file says what leaves the clinic, and no more. */
function* checkAllowances(part: CrmPart): Faults {
  const { crm, stream } = part;
  const sensitive = sensitiveOf(part);
  for (const path of crm.at('sensitive').names) {
    const allowance = crm.at('sensitive', path);
    if (!sensitive.includes(path)) {
      const remedy = `${question(path, sensitive)}there are: ${sensitive.join(', ')}`;
      yield allowance.fault(`${stream} have no sensitive field ${JSON.stringify(path)}`, remedy);
    } else if (![...crm.matching('mapping.*')].some((rule) => isUsed(rule, path))) {
      yield allowance.fault('nothing in the mapping uses it', 'remove it, or map the field');
    }
  }
}

function isUsed(rule: FilePart, path: string): boolean {
  const from = rule.text ?? rule.at('from').text;
  if (from !== null) return from.trim() === path;
  const expression = rule.at('expression').text;
  if (expression === null) return false;
  const outline = outlineExpression(expression.trim());
  return outline === null || outline.isOpen || outline.names.has(path) || outline.texts.has(path);
}

/** Activities and deals belong to contacts, which another target of the same place holds. */
function* checkContacts({ crm, stream }: CrmPart, target: FilePart): Faults {
  const contacts = crm.at('contacts');
  if (stream === 'patients') {
    if (!contacts.isMissing) yield contacts.fault('patients are contacts themselves', 'remove contacts');
    return;
  }
  const targets = new FilePart(target.file, ['targets']);
  const holders = targets.names.filter((id) => {
    const other = targets.at(id, 'crm');
    return !other.isMissing && (other.at('stream').value ?? 'patients') === 'patients';
  });
  const list = holders.length === 0 ? 'add a target with crm.stream: patients' : `there are: ${holders.join(', ')}`;
  const name = contacts.text;
  if (contacts.isMissing) {
    const message = `contacts is missing, and ${stream} belong to contacts`;
    yield crm.fault(message, `name the target that holds them; ${list}`);
  } else if (name === null) return;
  else if (!holders.includes(name)) {
    yield contacts.fault(`no target ${JSON.stringify(name)} holds contacts`, `${question(name, holders)}${list}`);
  } else if (['connector', 'connection'].some((key) => target.at(key).value !== targets.at(name, key).value)) {
    const remedy = 'name one with the same connector and connection';
    yield contacts.fault(`the target ${name} writes to another place`, remedy);
  }
}

/** What is not read can't be counted. */
function* checkDays(derived: FilePart): Faults {
  const days = (key: keyof typeof DEFAULT_DAYS) => {
    const { value } = derived.at(key);
    return typeof value === 'number' ? value : DEFAULT_DAYS[key];
  };
  const history = days('historyDays');
  for (const key of ['periodDays', 'lapsedAfterDays'] as const) {
    if (days(key) <= history) continue;
    const message = `is longer than historyDays (${history}), the time whose appointments count`;
    yield derived.at(key).fault(message, 'make it shorter, or historyDays longer');
  }
}
