/** A JSON object of unknown content. */
type JsonObject = Record<string, unknown>;

/** One step of a path: into an object by name, then optionally into the list at that name. */
export interface PathStep {
  name: string;
  /** `first`: the first element that leads to a value; a condition: only elements whose field has that value. */
  within?: 'first' | { field: string; value: string };
}

const NAME = String.raw`[^\s.[\]=]+`;
const STEP = String.raw`${NAME}(?:\[(?:${NAME}=[^[\]]+)?\])?`;
/** Pattern of a path, without anchors: `phones.0`, `phones[].number`, `telecom[system=phone].value`. */
export const PATH_PATTERN = String.raw`${STEP}(?:\.${STEP})*`;
const STEPS = new RegExp(String.raw`(${NAME})(?:\[(?:(${NAME})=([^[\]]+))?(\]))?`, 'g');
const INDEX = /^\d{1,4}$/;

/** Returns the steps of a path. Field names with brackets or an equals sign cannot be written as a path. */
export function parsePath(path: string): PathStep[] {
  return [...path.matchAll(STEPS)].map(([, name = '', field, value, bracket]) => {
    if (bracket === undefined) return { name };
    return { name, within: field === undefined ? 'first' : { field, value: value ?? '' } };
  });
}

/** Returns the value at the end of the steps, or undefined. */
export function followPath(value: unknown, steps: readonly PathStep[], from = 0): unknown {
  let current = value;
  for (let at = from; at < steps.length; at += 1) {
    const { name, within } = steps[at] as PathStep;
    current = memberOf(current, name);
    if (current === undefined) return undefined;
    if (within !== undefined) return inList(current, within, steps, at + 1);
  }
  return current;
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
  const { name, within } = step;
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
  const { name, within } = step;
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
  return isObject(value) && Object.hasOwn(value, name) ? value[name] : undefined;
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
  if (within === 'first') return true;
  const value = memberOf(element, within.field);
  return value !== undefined && value !== null && typeof value !== 'object' && String(value) === within.value;
}

function isObject(value: unknown): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** Sets the value at the end of the steps and creates missing objects, lists and elements. */
export function setAtPath(target: JsonObject, steps: readonly PathStep[], value: unknown): void {
  let current: JsonObject | unknown[] = target;
  steps.forEach(({ name, within }, at) => {
    const isLast = at === steps.length - 1;
    if (within === undefined && isLast) {
      define(current, name, value);
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
      if (isLast) list[0] = value;
      else current = found ?? newElement(list, within);
      return;
    }
    const wantsList = INDEX.test(steps[at + 1]?.name ?? '');
    const inner: JsonObject | unknown[] = isObject(next) || Array.isArray(next) ? next : wantsList ? [] : {};
    if (inner !== next) define(current, name, inner);
    current = inner;
  });
}

function listOf(value: unknown): unknown[] {
  if (Array.isArray(value)) return value;
  return isObject(value) ? [value] : [];
}

/** Returns the element that a read of the path would use, or the first matching element. */
function elementOf(
  list: readonly unknown[],
  within: NonNullable<PathStep['within']>,
  steps: readonly PathStep[],
  from: number,
): JsonObject | undefined {
  const meant = list.filter((each): each is JsonObject => isObject(each) && isMeant(each, within));
  return meant.find((each) => (followPath(each, steps, from) ?? '') !== '') ?? meant[0];
}

function newElement(list: unknown[], within: NonNullable<PathStep['within']>): JsonObject {
  const made: JsonObject = {};
  if (within !== 'first') define(made, within.field, within.value);
  list.push(made);
  return made;
}

/** Names come from configuration: `__proto__` must be an ordinary name. */
function define(target: JsonObject | unknown[], name: string, value: unknown): void {
  Object.defineProperty(target, name, { value, enumerable: true, configurable: true, writable: true });
}
