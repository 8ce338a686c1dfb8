import { isModestExpression, outlineExpression, REFUSED_FUNCTIONS } from './crm-expressions.ts';
import { DEFAULT_DAYS, TRANSFORMS } from './crm-schema.ts';
import {
  CONSENT_PREFIX,
  CRM_SOURCES,
  type CrmSource,
  type CrmStream,
  type CrmTransform,
  consentOf,
  crmSourceOf,
  kindAfter,
  type SourceKind,
} from './crm-sources.ts';
import { faultAt } from './describe-issue.ts';
import { didYouMean } from './did-you-mean.ts';
import type { ConfigurationFault } from './faults.ts';
import { keysAt, type ValuePath, type YamlFile } from './yaml-file.ts';

/** Names that the part for a CRM may refer to. */
export interface KnownConsents {
  /** Names of what patients agree to, by clinic client; null for one whose profile could not be read. */
  consents(clinicClient: string): readonly string[] | null;
}

/** One target's part for a CRM, as it stands in the file. */
interface Part {
  file: YamlFile;
  /** Path of the part. */
  at: ValuePath;
  stream: CrmStream;
  /** Null when the clinic's profile could not be read. */
  consents: readonly string[] | null;
  /** Fields with an allowance. */
  allowed: readonly string[];
}

/**
 * Checks of a target in a CRM between its parts and with the rest of the file: fields that there are, allowances of sensitive
 * ones, transforms that fit, expressions, and the target that holds the contacts. Reads the raw file and passes over what is
 * missing or of the wrong type, since the schema reports it.
 * @param at path of the target; its part for a CRM is `crm` below
 */
export function checkCrm(file: YamlFile, at: ValuePath, known: KnownConsents): ConfigurationFault[] {
  const part = partOf(file, [...at, 'crm'], known);
  if (part === null) return [];
  const rules = keysAt(file, [...part.at, 'mapping']);
  return [
    ...rules.flatMap((property) => checkRule(part, property)),
    ...checkTwins(part, rules),
    ...checkAllowances(part, rules),
    ...checkConsents(part),
    ...checkContacts(part, at),
    ...checkDays(part),
  ];
}

function partOf(file: YamlFile, at: ValuePath, known: KnownConsents): Part | null {
  if (file.valueAt(at) === undefined) return null;
  const stream = file.valueAt([...at, 'stream']) ?? 'patients';
  if (stream !== 'patients' && stream !== 'appointments' && stream !== 'invoices') return null;
  const consents = known.consents(String(file.valueAt(['clinic', 'client'])));
  return { file, at, stream, consents, allowed: keysAt(file, [...at, 'sensitive']) };
}

function checkRule(part: Part, property: string): ConfigurationFault[] {
  const at = [...part.at, 'mapping', property];
  const rule = part.file.valueAt(at);
  if (typeof rule === 'string') return checkField(part, at, rule.trim(), []);
  const from = part.file.valueAt([...at, 'from']);
  if (typeof from === 'string') return checkField(part, [...at, 'from'], from.trim(), transformsOf(part, at));
  const expression = part.file.valueAt([...at, 'expression']);
  return typeof expression === 'string' ? checkExpression(part, at, expression) : [];
}

/** Transforms of a rule; none when one of them is unknown, which the schema reports. */
function transformsOf({ file }: Part, at: ValuePath): readonly CrmTransform[] {
  const written = file.valueAt([...at, 'transforms']);
  return Array.isArray(written) && written.every(isTransform) ? written : [];
}

function isTransform(word: unknown): word is CrmTransform {
  return TRANSFORMS.some((transform) => transform === word);
}

function checkField(
  part: Part,
  at: ValuePath,
  path: string,
  transforms: readonly CrmTransform[],
): ConfigurationFault[] {
  const source = crmSourceOf(part.stream, path);
  if (source === null) return [unknownField(part, at, path)];
  return [
    ...checkConsent(part, at, consentOf(part.stream, path)),
    ...checkAllowance(part, at, path, source),
    ...checkTransforms(part, at, source.kind, transforms),
  ];
}

function unknownField({ file, stream, consents }: Part, at: ValuePath, path: string): ConfigurationFault {
  const known = fieldsOf(stream, consents);
  const guess = known.find((field) => field.endsWith(`.${path}`)) ?? didYouMean(path, known);
  const question = guess === null ? '' : `did you mean ${guess}? `;
  const message = `${stream} have no field ${JSON.stringify(path)}`;
  return faultAt(file, at, message, `${question}there are: ${known.join(', ')}`);
}

function fieldsOf(stream: CrmStream, consents: readonly string[] | null): string[] {
  const told = stream === 'patients' ? (consents ?? []).map((name) => `${CONSENT_PREFIX}${name}`) : [];
  return [...Object.keys(CRM_SOURCES[stream]), ...told];
}

function checkConsent({ file, consents }: Part, at: ValuePath, name: unknown): ConfigurationFault[] {
  if (typeof name !== 'string' || consents === null || consents.includes(name)) return [];
  const guess = didYouMean(name, consents);
  const question = guess === null ? '' : `did you mean ${guess}? `;
  const list = consents.length === 0 ? 'there is no consent yet' : `there are: ${consents.join(', ')}`;
  const remedy = `${question}${list}; add it to patients.consents in the clinic profile`;
  return [faultAt(file, at, `there is no consent ${JSON.stringify(name)}`, remedy)];
}

function checkConsents(part: Part): ConfigurationFault[] {
  const at = [...part.at, 'consents'];
  const named = part.file.valueAt(at);
  return (Array.isArray(named) ? named : []).flatMap((name, index) => checkConsent(part, [...at, index], name));
}

function checkAllowance({ file, allowed }: Part, at: ValuePath, path: string, source: CrmSource): ConfigurationFault[] {
  if (!source.sensitive || allowed.includes(path)) return [];
  const remedy = `add it to sensitive with the reason (who decided, and on what ground), or leave it out`;
  return [faultAt(file, at, `the field ${path} is sensitive, and no reason is given`, remedy)];
}

function checkTransforms(
  { file }: Part,
  at: ValuePath,
  kind: SourceKind,
  transforms: readonly CrmTransform[],
): ConfigurationFault[] {
  const after = kindAfter(kind, transforms);
  if (!('misfit' in after)) return [];
  const message = `the transform ${after.misfit} can't be applied to what is of the kind ${after.given}`;
  const fitting = TRANSFORMS.filter((transform) => !('misfit' in kindAfter(after.given, [transform])));
  const remedy = fitting.length === 0 ? 'leave it out' : `what fits: ${fitting.join(', ')}`;
  return [faultAt(file, at, message, remedy)];
}

function checkExpression(part: Part, at: ValuePath, expression: string): ConfigurationFault[] {
  const { file } = part;
  const where = [...at, 'expression'];
  const isAllowed = file.valueAt([...part.at, 'expressions']) === 'allowed';
  const refused = isAllowed
    ? []
    : [
        faultAt(
          file,
          where,
          'expressions are refused in this target',
          'set expressions: allowed, or name a field in from',
        ),
      ];
  // Beyond its limits: the schema reports it.
  if (!isModestExpression(expression.trim())) return refused;
  const outline = outlineExpression(expression.trim());
  if (outline === null) {
    const remedy = 'try it on try.jsonata.org, with invented data';
    return [...refused, faultAt(file, where, 'is no JSONata expression', remedy)];
  }
  const sensitive = Object.entries(CRM_SOURCES[part.stream]).filter(([path]) => outline.names.has(path));
  const functions = outline.refused.map((name) =>
    faultAt(
      file,
      where,
      `the function $${name} is refused`,
      `do without ${REFUSED_FUNCTIONS.map((one) => `$${one}`).join(', ')}`,
    ),
  );
  const kind = kindOf(file.valueAt([...at, 'kind']));
  return [
    ...refused,
    ...functions,
    ...sensitive.flatMap(([path, source]) => checkAllowance(part, where, path, source)),
    ...(kind === null ? [] : checkTransforms(part, at, kind, transformsOf(part, at))),
  ];
}

const KINDS: readonly SourceKind[] = ['text', 'number', 'boolean', 'date', 'instant'];

function kindOf(written: unknown): SourceKind | null {
  return written === undefined ? 'text' : (KINDS.find((kind) => kind === written) ?? null);
}

/** Salesforce and others take `Email` and `email` for one property: the second would overwrite the first. */
function checkTwins({ file, at }: Part, rules: readonly string[]): ConfigurationFault[] {
  return rules.flatMap((property, index) => {
    const twin = rules.slice(0, index).find((other) => other.toLowerCase() === property.toLowerCase());
    if (twin === undefined) return [];
    const message = `differs from ${twin} by capital letters alone`;
    return [faultAt(file, [...at, 'mapping', property], message, 'keep one of the two')];
  });
}

/** An allowance must be of a sensitive field and be used, so that the file says what leaves the clinic, and no more. */
function checkAllowances(part: Part, rules: readonly string[]): ConfigurationFault[] {
  const sensitive = Object.entries(CRM_SOURCES[part.stream]).flatMap(([path, one]) => (one.sensitive ? [path] : []));
  return part.allowed.flatMap((path) => {
    const at = [...part.at, 'sensitive', path];
    if (!sensitive.includes(path)) {
      const guess = didYouMean(path, sensitive);
      const question = guess === null ? '' : `did you mean ${guess}? `;
      const message = `${part.stream} have no sensitive field ${JSON.stringify(path)}`;
      return [faultAt(part.file, at, message, `${question}there are: ${sensitive.join(', ')}`)];
    }
    if (rules.some((property) => isUsed(part, property, path))) return [];
    return [faultAt(part.file, at, 'nothing in the mapping uses it', 'remove it, or map the field')];
  });
}

function isUsed({ file, at }: Part, property: string, path: string): boolean {
  const rule = [...at, 'mapping', property];
  const from = file.valueAt(rule) === undefined ? undefined : (file.valueAt([...rule, 'from']) ?? file.valueAt(rule));
  if (typeof from === 'string') return from.trim() === path;
  const expression = file.valueAt([...rule, 'expression']);
  if (typeof expression !== 'string') return false;
  const outline = outlineExpression(expression.trim());
  return outline === null || outline.isOpen || outline.names.has(path) || outline.texts.has(path);
}

/** Activities and deals belong to contacts, which another target of the same place holds. */
function checkContacts({ file, at, stream }: Part, target: ValuePath): ConfigurationFault[] {
  const where = [...at, 'contacts'];
  const name = file.valueAt(where);
  if (stream === 'patients') {
    if (name === undefined) return [];
    return [faultAt(file, where, 'patients are contacts themselves', 'remove contacts')];
  }
  const holders = keysAt(file, ['targets']).filter((id) => holdsContacts(file, id));
  const list = holders.length === 0 ? 'add a target with crm.stream: patients' : `there are: ${holders.join(', ')}`;
  if (name === undefined) {
    return [
      faultAt(
        file,
        at,
        `contacts is missing, and ${stream} belong to contacts`,
        `name the target that holds them; ${list}`,
      ),
    ];
  }
  if (typeof name !== 'string') return [];
  if (!holders.includes(name)) {
    const guess = didYouMean(name, holders);
    const question = guess === null ? '' : `did you mean ${guess}? `;
    return [faultAt(file, where, `no target ${JSON.stringify(name)} holds contacts`, `${question}${list}`)];
  }
  const isSamePlace = ['connector', 'connection'].every(
    (key) => file.valueAt([...target, key]) === file.valueAt(['targets', name, key]),
  );
  if (isSamePlace) return [];
  const message = `the target ${name} writes to another place`;
  return [faultAt(file, where, message, 'name one with the same connector and connection')];
}

function holdsContacts(file: YamlFile, id: string): boolean {
  const crm = ['targets', id, 'crm'];
  if (file.valueAt(crm) === undefined) return false;
  return (file.valueAt([...crm, 'stream']) ?? 'patients') === 'patients';
}

/** What is not read can't be counted. */
function checkDays({ file, at }: Part): ConfigurationFault[] {
  const days = (key: string, unset: number) => {
    const value = file.valueAt([...at, 'derived', key]);
    return typeof value === 'number' ? value : unset;
  };
  const history = days('historyDays', DEFAULT_DAYS.historyDays);
  return (['periodDays', 'lapsedAfterDays'] as const).flatMap((key) => {
    if (days(key, DEFAULT_DAYS[key]) <= history) return [];
    const message = `is longer than historyDays (${history}), the time whose appointments count`;
    return [faultAt(file, [...at, 'derived', key], message, 'make it shorter, or historyDays longer')];
  });
}
