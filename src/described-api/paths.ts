/** A JSON object of unknown content. */
export type JsonObject = Record<string, unknown>;

/** Path of the answer itself. */
export const ITSELF = '.';

/** Returns whether a JSON value is an object, not an array. */
export function isJsonObject(value: unknown): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** One step of a path: into an object by name, then optionally into the list at that name. Or a part of the text so far. */
export interface PathStep {
  name: string;
  /** `first`: the first element that leads to a value; conditions: only elements that meet each condition. */
  within?: 'first' | readonly Condition[];
  /** Only for the last step, without a name: the part of a text after this marker. */
  after?: string;
}

/** A condition for an element of a list: one of the values at the steps equals, begins with or contains the text. */
interface Condition {
  steps: readonly PathStep[];
  operator: string;
  text: string;
}

const NAME = String.raw`[^\s.[\]{}=]+`;
const FIELD = String.raw`${NAME}?(?:\.${NAME}?)*?`;
const CONDITION = String.raw`${FIELD}[\^*]?=[^[\]]+`;
const STEP = String.raw`${NAME}(?:\[\]|(?:\[${CONDITION}\])+)?`;
const MARKER = String.raw`\{[^\s{}]+\}`;
/**
 * Pattern of a path, without anchors: `phones.0`, `phones[].number`, `telecom[system=phone].value`,
 * `people[who.ref^=Patient/].who.ref{Patient/}`.
 */
export const PATH_PATTERN = String.raw`${STEP}(?:\.${STEP})*(?:${MARKER})?`;
const STEPS = new RegExp(String.raw`(${NAME})((?:\[[^[\]]*\])*)|\{([^\s{}]+)\}`, 'g');
const CONDITIONS = new RegExp(String.raw`\[(${FIELD})([\^*]?=)([^[\]]+)\]`, 'g');
const INDEX = /^\d{1,4}$/;

/** Returns the steps of a path. Field names with brackets, braces or an equals sign cannot be written as a path. */
export function parsePath(path: string): PathStep[] {
  return [...path.matchAll(STEPS)].map(([, name = '', brackets = '', after]) => {
    if (after !== undefined) return { name, after };
    if (brackets === '') return { name };
    return { name, within: brackets === '[]' ? 'first' : conditionsIn(brackets) };
  });
}

function conditionsIn(brackets: string): Condition[] {
  return [...brackets.matchAll(CONDITIONS)].map(([, field = '', operator = '=', text = '']) => ({
    steps: field.split('.').map((name) => ({ name })),
    operator,
    text,
  }));
}

/** Returns the value at a path of a description, or undefined. */
export function valueAt(value: unknown, path: string): unknown {
  return followPath(value, parsePath(path));
}

/** Returns the value at the end of the steps, or undefined. */
export function followPath(value: unknown, steps: readonly PathStep[], from = 0): unknown {
  let current = value;
  for (let at = from; at < steps.length; at += 1) {
    const { name, within, after } = steps[at] as PathStep;
    current = after === undefined ? memberOf(current, name) : textsAfter(current, after);
    if (current === undefined) return undefined;
    if (within !== undefined) return inList(current, within, steps, at + 1);
  }
  return current;
}

/** Splits the path of a list: names of the members that lead to it, conditions for its elements, and the path of the record in each. */
export function listRoute(path: string): {
  names: string[];
  within: PathStep['within'];
  inner: readonly PathStep[];
} {
  const steps = parsePath(path);
  const at = steps.findIndex(({ within }) => within !== undefined);
  const outer = at === -1 ? steps : steps.slice(0, at + 1);
  return { names: outer.map(({ name }) => name), within: steps[at]?.within, inner: steps.slice(outer.length) };
}

/** Compiles the path of a list to the records in its elements. Elements that miss a condition of the path are no records. */
export function recordsAt(path: string): (elements: readonly unknown[]) => readonly unknown[] {
  const { within, inner } = listRoute(path);
  if (within === undefined) return (elements) => elements;
  return (elements) => elements.filter((each) => isMeant(each, within)).map((each) => followPath(each, inner));
}

/** Compiles paths to every value of the first path with a value, in the row's order: lists contribute each element. */
export function compileAll(paths: readonly string[]): (row: JsonObject) => unknown[] {
  const routes = paths.map(parsePath);
  return (row) => {
    const found = routes.map((route) => valuesAlong(row, route).filter((value) => (value ?? '') !== ''));
    return found.find((values) => values.length > 0) ?? [];
  };
}

function valuesAlong(value: unknown, steps: readonly PathStep[], from = 0): unknown[] {
  const step = steps[from];
  if (Array.isArray(value) && (step === undefined || !INDEX.test(step.name))) {
    return value.flatMap((each) => valuesAlong(each, steps, from));
  }
  if (step === undefined) return [value];
  const { name, within, after } = step;
  if (after !== undefined) return [textAfter(value, after)];
  const next = memberOf(value, name);
  if (within === undefined) return valuesAlong(next, steps, from + 1);
  const meant = (Array.isArray(next) ? next : [next]).filter((each) => isMeant(each, within));
  return meant.flatMap((each) => valuesAlong(each, steps, from + 1));
}

/**
 * Returns whether the steps lead to a member of the value, empty ones included: `a.b` does in `{ "a": null }`, whose `a` may have members in
 * other records.
 */
export function leadsIn(value: unknown, steps: readonly PathStep[], from = 0): boolean {
  const step = steps[from];
  if (step === undefined) return true;
  if (from > 0 && isEmpty(value)) return true;
  const { name, within, after } = step;
  if (after !== undefined) return textsAfter(value, after) !== undefined;
  if (Array.isArray(value)) {
    return INDEX.test(name)
      ? value.length <= Number(name) || leadsIn(value[Number(name)], steps, from + 1)
      : value.some((each) => leadsIn(each, steps, from));
  }
  const next = memberOf(value, name);
  if (next === undefined) return false;
  if (within === undefined || isEmpty(next)) return leadsIn(next, steps, from + 1);
  return (Array.isArray(next) ? next : [next]).some((each) => isMeant(each, within) && leadsIn(each, steps, from + 1));
}

function isEmpty(value: unknown): boolean {
  return value === null || value === '' || (Array.isArray(value) && value.length === 0);
}

function memberOf(value: unknown, name: string): unknown {
  if (Array.isArray(value)) return INDEX.test(name) ? value[Number(name)] : undefined;
  return isJsonObject(value) && Object.hasOwn(value, name) ? value[name] : undefined;
}

/** A single element without a list is equivalent to a list of one. */
function inList(
  list: unknown,
  within: NonNullable<PathStep['within']>,
  steps: readonly PathStep[],
  from: number,
): unknown {
  let result: unknown;
  for (const element of Array.isArray(list) ? list : [list]) {
    if (!isMeant(element, within)) continue;
    const value = followPath(element, steps, from);
    if (value !== undefined && value !== null && value !== '') return value;
    result ??= value;
  }
  return result;
}

function isMeant(element: unknown, within: NonNullable<PathStep['within']>): boolean {
  return within === 'first' || within.every((condition) => meets(element, condition));
}

function meets(element: unknown, { steps, operator, text }: Condition): boolean {
  return valuesAlong(element, steps).some((value) => {
    if (value === undefined || value === null || typeof value === 'object') return false;
    const stated = String(value);
    if (operator === '^=') return stated.startsWith(text);
    return operator === '*=' ? stated.includes(text) : stated === text;
  });
}

const ENDS_SEGMENT = /[/?#]/;

/**
 * Returns the part of a text after a marker, up to the next slash, question mark or hash: the id in `Patient/17`,
 * `https://clinic.example/Patient/17/history/2` and `/patients/17`. The marker is at the beginning or follows a slash, unless it begins with one.
 * Undefined without the marker, and for other values.
 */
function textAfter(value: unknown, marker: string): string | undefined {
  if (typeof value !== 'string') return undefined;
  const at = value.lastIndexOf(marker);
  const isWhole = at === 0 || marker.startsWith('/') || value[at - 1] === '/';
  if (at === -1 || !isWhole) return undefined;
  const [text = ''] = value.slice(at + marker.length).split(ENDS_SEGMENT, 1);
  return text === '' ? undefined : text;
}

/** Applies {@link textAfter} to a value, or to each element of a list. */
function textsAfter(value: unknown, marker: string): unknown {
  if (!Array.isArray(value)) return textAfter(value, marker);
  const found = value.flatMap((each) => textAfter(each, marker) ?? []);
  return found.length === 0 ? undefined : found;
}

/**
 * Sets the value at the end of the steps and creates missing objects, lists and elements. Behind a marker, the text is the marker with the
 * value.
 */
export function setAtPath(target: JsonObject, steps: readonly PathStep[], value: unknown): void {
  const marker = steps.at(-1)?.after;
  const route = marker === undefined ? steps : steps.slice(0, -1);
  const text = marker === undefined || value === null ? value : `${marker}${String(value)}`;
  let current: JsonObject | unknown[] = target;
  route.forEach(({ name, within }, at) => {
    const isLast = at === route.length - 1;
    if (within === undefined && isLast) {
      define(current, name, text);
      return;
    }
    const next: unknown = memberOf(current, name);
    if (within !== undefined) {
      const list = listOf(next);
      const found = isLast ? undefined : elementOf(list, within, steps, at + 1);
      // A matching element without a list is changed in place.
      if (found !== undefined && found === next) {
        current = found;
        return;
      }
      if (list !== next) define(current, name, list);
      if (isLast) list[0] = text;
      else current = found ?? newElement(list, within);
      return;
    }
    const wantsList = INDEX.test(steps[at + 1]?.name ?? '');
    const inner: JsonObject | unknown[] = isJsonObject(next) || Array.isArray(next) ? next : wantsList ? [] : {};
    if (inner !== next) define(current, name, inner);
    current = inner;
  });
}

function listOf(value: unknown): unknown[] {
  if (Array.isArray(value)) return value;
  return isJsonObject(value) ? [value] : [];
}

/** Returns the element that a read of the path would use, or the first matching element that contains nothing else at the path. */
function elementOf(
  list: readonly unknown[],
  within: NonNullable<PathStep['within']>,
  steps: readonly PathStep[],
  from: number,
): JsonObject | undefined {
  const meant = list.filter((each): each is JsonObject => isJsonObject(each) && isMeant(each, within));
  const read = meant.find((each) => (followPath(each, steps, from) ?? '') !== '');
  const isOther = (each: JsonObject) => (followPath(each, steps.slice(0, -1), from) ?? '') !== '';
  return read ?? meant.find((each) => steps.at(-1)?.after === undefined || !isOther(each));
}

function newElement(list: unknown[], within: NonNullable<PathStep['within']>): JsonObject {
  const made: JsonObject = {};
  if (within !== 'first') for (const { steps, text } of within) setAtPath(made, steps, text);
  list.push(made);
  return made;
}

/** Names come from configuration: `__proto__` must be an ordinary name. */
function define(target: JsonObject | unknown[], name: string, value: unknown): void {
  Object.defineProperty(target, name, { value, enumerable: true, configurable: true, writable: true });
}
