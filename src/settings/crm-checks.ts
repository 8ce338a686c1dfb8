import { didYouMean } from '../core/model/text.ts';
import { valuesOf } from '../core/model/text-format.ts';
import { message, type Text, withRemedy } from '../messages/message.ts';
import {
  CONSENT_PREFIX,
  CRM_SOURCES,
  type CrmStream,
  type CrmTransform,
  consentOf,
  crmSourceOf,
  DEFAULT_DAYS,
  hasModestTemplates,
  kindAfter,
  parseTemplate,
  type SourceKind,
  TRANSFORMS,
} from './crm-schema.ts';
import { FilePart, withGuess } from './describe-issue.ts';
import type { ConfigurationFault } from './faults.ts';

/** Names that a CRM mapping can use. */
export interface ConsentNames {
  /** Consent names by clinic client; null if the profile is unreadable. */
  consents(clinicClient: string): readonly string[] | null;
}

/** The CRM part of a target, as written. */
interface CrmPart {
  crm: FilePart;
  stream: CrmStream;
  /** Null if the clinic's profile is unreadable. */
  consents: readonly string[] | null;
}

/** Undefined for a break. */
type Faults = Generator<ConfigurationFault | undefined>;

/**
 * Cross-checks of a CRM target: existing fields, allowances of sensitive fields, matching transforms, and the target with the
 * contacts. Reads the raw file and skips missing or wrongly typed parts, which the schema reports.
 */
export function* checkCrm(target: FilePart, allowed: ConsentNames): Faults {
  const crm = target.at('crm');
  const stream = crm.at('stream').value ?? 'patients';
  if (crm.isMissing || !isStream(stream)) return;
  const consents = allowed.consents(String(target.file.valueAt(['clinic', 'client'])));
  const part = { crm, stream, consents };
  // The schema reports them. Otherwise, each of a hundred thousand fields would be compared with all known ones.
  if (!hasModestTemplates(crm.at('mapping').value)) return;
  for (const rule of crm.matching('mapping.*')) {
    yield* checkRule(part, rule);
    yield;
  }
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
  const transforms = transformsOf(rule);
  const template = rule.at('template');
  for (const { at, path } of fieldsIn(rule)) yield* checkField(part, at, path);
  yield* checkCondition(part, rule.at('when'));
  const source = [template, rule.at('first'), rule.at('from')].find((one) => !one.isMissing) ?? rule;
  const kinds = [...fieldsIn(rule, ['from', 'first'])].flatMap(
    ({ path }) => crmSourceOf(part.stream, path)?.kind ?? [],
  );
  const [kind, ...others] = template.isMissing ? [...new Set(kinds)] : ['text' as const];
  if (others.length > 0)
    yield source.fault(...withRemedy('mapping.several-kinds', { kinds: [kind, ...others].join(', ') }));
  else if (kind !== undefined) yield* checkTransforms(source, kind, transforms);
  yield* checkOtherwise(rule, kind, transforms);
}

/** A constant of another type than the field never equals the field. */
function* checkCondition({ stream }: CrmPart, when: FilePart): Faults {
  const kind = crmSourceOf(stream, when.at('field').text?.trim() ?? '')?.kind;
  if (kind === undefined) return;
  const constants = [when.at('equals'), ...when.matching('in.*')].filter((one) => !one.isMissing);
  for (const constant of constants) {
    if (typeof constant.value !== typeOf(kind)) yield constant.fault(...withRemedy('mapping.condition', { kind }));
  }
}

/** A CRM property has one type. */
function* checkOtherwise(rule: FilePart, kind: SourceKind | undefined, transforms: readonly CrmTransform[]): Faults {
  const otherwise = rule.at('otherwise');
  const values = rule.at('values');
  const constant = values.isMissing ? rule.at('value') : values.at(values.names[0] ?? '');
  const after = kind === undefined ? null : kindAfter(kind, transforms);
  const ofField = after === null || 'misfit' in after ? null : typeOf(after.kind);
  const wanted = constant.isMissing ? ofField : typeof constant.value;
  if (otherwise.isMissing || wanted === null || typeof otherwise.value === wanted) return;
  yield otherwise.fault(...withRemedy('mapping.otherwise', { type: wanted }));
}

/** Returns the type of constants for a kind; days and instants are texts. */
function typeOf(kind: SourceKind): 'number' | 'boolean' | 'string' {
  return kind === 'number' || kind === 'boolean' ? kind : 'string';
}

/** A field of a rule, with its location. */
interface NamedField {
  at: FilePart;
  path: string;
}

/** Returns the fields that a rule reads: its sources, those of its template, and that of its condition. */
function* fieldsIn(
  rule: FilePart,
  keys: readonly ('from' | 'first' | 'template' | 'when')[] = ['from', 'first', 'template', 'when'],
): Generator<NamedField> {
  const named = (at: FilePart) => (at.text === null ? [] : [{ at, path: at.text.trim() }]);
  yield* named(rule);
  if (keys.includes('from')) yield* named(rule.at('from'));
  if (keys.includes('first')) for (const one of rule.matching('first.*')) yield* named(one);
  if (keys.includes('when')) yield* named(rule.at('when', 'field'));
  const template = rule.at('template');
  if (!keys.includes('template') || template.text === null) return;
  for (const path of new Set(valuesOf(parseTemplate(template.text) ?? []))) yield { at: template, path };
}

/** Returns the transforms of a rule; none if one is unknown, which the schema reports. */
function transformsOf(rule: FilePart): readonly CrmTransform[] {
  const { list } = rule.at('transforms');
  const isTransform = (word: unknown): word is CrmTransform => TRANSFORMS.some((transform) => transform === word);
  return list.every(isTransform) ? list : [];
}

/** @param field location of the path */
function* checkField(part: CrmPart, field: FilePart, path: string): Faults {
  const { stream, consents } = part;
  const source = crmSourceOf(stream, path);
  if (source === null) {
    const ofConsents = stream === 'patients' ? (consents ?? []).map((name) => `${CONSENT_PREFIX}${name}`) : [];
    const allowed = [...Object.keys(CRM_SOURCES[stream]), ...ofConsents];
    const ending = allowed.find((name) => name.endsWith(`.${path}`));
    const remedy = withGuess(
      ending ?? didYouMean(path, allowed),
      message('available-names', { names: allowed.join(', ') }),
    );
    yield field.fault(message('mapping.no-field', { stream, field: JSON.stringify(path) }), remedy);
    return;
  }
  yield* checkConsent(part, field, consentOf(stream, path));
  if (source.sensitive) yield* checkAllowed(part, field, path);
}

/** @param at location of the consent name */
function* checkConsent({ consents }: CrmPart, at: FilePart, name: string | null): Faults {
  if (name === null || consents === null || consents.includes(name)) return;
  yield at.unknown(name, consents, { what: message('settings.a-consent'), remedy: message('mapping.add-consent') });
}

function* checkAllowed({ crm }: CrmPart, at: FilePart, path: string): Faults {
  if (crm.at('sensitive').names.includes(path)) return;
  yield at.fault(...withRemedy('mapping.sensitive', { field: path }));
}

function* checkTransforms(at: FilePart, kind: SourceKind, transforms: readonly CrmTransform[]): Faults {
  const after = kindAfter(kind, transforms);
  if (!('misfit' in after)) return;
  const fitting = TRANSFORMS.filter((transform) => !('misfit' in kindAfter(after.actual, [transform])));
  const names = fitting.join(', ');
  const remedy = names === '' ? message('settings.leave-out') : message('mapping.fitting', { names });
  yield at.fault(message('mapping.misfit', { transform: after.misfit, kind: after.actual }), remedy);
}

function sensitiveOf({ stream }: CrmPart): string[] {
  return Object.entries(CRM_SOURCES[stream]).flatMap(([path, { sensitive }]) => (sensitive ? [path] : []));
}

/** Salesforce and others treat `Email` and `email` as one property, so the second would overwrite the first. */
function* checkSpelling(mapping: FilePart): Faults {
  const firsts = new Map<string, string>();
  for (const property of mapping.names) {
    const folded = property.toLowerCase();
    const first = firsts.get(folded);
    if (first === undefined) firsts.set(folded, property);
    else yield mapping.at(property).fault(...withRemedy('mapping.spelling', { property: first }));
  }
}

/** An allowance requires a sensitive field that is used, so that the file lists exactly the data that leaves the clinic. */
function* checkAllowances(part: CrmPart): Faults {
  const { crm, stream } = part;
  const sensitive = sensitiveOf(part);
  for (const path of crm.at('sensitive').names) {
    const allowance = crm.at('sensitive', path);
    if (!sensitive.includes(path)) {
      const absent = message('mapping.no-sensitive-field', { stream, field: JSON.stringify(path) });
      const list = message('available-names', { names: sensitive.join(', ') });
      yield allowance.fault(absent, withGuess(didYouMean(path, sensitive), list));
    } else if (![...crm.matching('mapping.*')].some((rule) => isUsed(rule, path))) {
      yield allowance.fault(...withRemedy('mapping.unused'));
    }
  }
}

function isUsed(rule: FilePart, path: string): boolean {
  return [...fieldsIn(rule)].some((field) => field.path === path);
}

/** Activities and deals need contacts, which another target of the CRM holds. */
function* checkContacts({ crm, stream }: CrmPart, target: FilePart): Faults {
  const contacts = crm.at('contacts');
  if (stream === 'patients') {
    if (!contacts.isMissing) yield contacts.fault(...withRemedy('mapping.own-contacts'));
    return;
  }
  const targets = new FilePart(target.file, ['targets']);
  const holders = targets.names.filter((id) => {
    const other = targets.at(id, 'crm');
    return !other.isMissing && (other.at('stream').value ?? 'patients') === 'patients';
  });
  const names = holders.join(', ');
  const list: Text = names === '' ? message('mapping.add-contacts') : message('available-names', { names });
  const name = contacts.text;
  if (contacts.isMissing) {
    yield crm.fault(...withRemedy('mapping.contacts-missing', { stream, list }));
  } else if (name === null) return;
  else if (!holders.includes(name)) {
    const absent = message('mapping.no-contacts', { target: JSON.stringify(name) });
    yield contacts.fault(absent, withGuess(didYouMean(name, holders), list));
  } else if (['connector', 'connection'].some((key) => target.at(key).value !== targets.at(name, key).value)) {
    yield contacts.fault(...withRemedy('mapping.contacts-elsewhere', { target: name }));
  }
}

/** Data outside of the fetched period cannot be counted. */
function* checkDays(derived: FilePart): Faults {
  const days = (key: keyof typeof DEFAULT_DAYS) => {
    const { value } = derived.at(key);
    return typeof value === 'number' ? value : DEFAULT_DAYS[key];
  };
  const history = days('historyDays');
  for (const key of ['periodDays', 'lapsedAfterDays'] as const) {
    if (days(key) <= history) continue;
    yield derived.at(key).fault(...withRemedy('mapping.too-many-days', { days: history }));
  }
}
