/** An object of JSON whose keys may be anything, `__proto__` too: made without a prototype. */
export type JsonObject = Record<string, unknown>;

const SEGMENT = /^([^[\]]*)(?:\[([^=\]]+)=([^\]]*)\])?$/;

/** Whether a text is a path: names between dots, each perhaps with a choice from a list, as in `data.objects[name=person].fields`. */
export function isPath(path: string): boolean {
  return path === '' || path.split('.').every((segment) => segment !== '' && SEGMENT.test(segment));
}

/**
 * The value at a path, undefined when there is none.
 * @param path names between dots; `list[name=value]` chooses the element of a list; the empty path is the value itself
 */
export function valueAt(value: unknown, path: string): unknown {
  if (path === '') return value;
  return path.split('.').reduce<unknown>((current, segment) => {
    const [, name = '', key, wanted] = SEGMENT.exec(segment) ?? [];
    const inner = name === '' ? current : memberOf(current, name);
    if (key === undefined) return inner;
    return Array.isArray(inner) ? inner.find((element) => String(memberOf(element, key)) === wanted) : undefined;
  }, value);
}

/** A JSON object without a prototype. */
export function newObject(): JsonObject {
  return Object.create(null);
}

/** Whether a value is an object of JSON and no list. */
export function isObject(value: unknown): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** Sets what stands at a path of names, making the objects on the way. */
export function setAt(target: JsonObject, path: string, value: unknown): void {
  const names = path.split('.');
  const last = names.pop() ?? '';
  let current = target;
  for (const name of names) {
    const next = Object.hasOwn(current, name) ? current[name] : undefined;
    const inner = isObject(next) ? next : newObject();
    current[name] = inner;
    current = inner;
  }
  current[last] = value;
}

/** Puts one object into another, object into object, everything else in place of what was there. */
export function mergeInto(target: JsonObject, source: JsonObject): JsonObject {
  for (const [name, value] of Object.entries(source)) {
    const there = Object.hasOwn(target, name) ? target[name] : undefined;
    target[name] = isObject(value) ? mergeInto(isObject(there) ? there : newObject(), value) : value;
  }
  return target;
}

function memberOf(value: unknown, name: string): unknown {
  if (typeof value !== 'object' || value === null || !Object.hasOwn(value, name)) return undefined;
  return Reflect.get(value, name);
}
