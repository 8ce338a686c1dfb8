import { compilePaths, type JsonObject } from '../http/rows.ts';
import type { FullName } from '../schema/fields.ts';

/** A name in two parts; what is not told is null. */
export interface Names {
  firstName: string | null;
  lastName: string | null;
}

/** Words that begin a family name, or go on with one. */
const PARTICLES = new Set(
  'd da dal dalla de del degli dei della delle dello den der di do dos du el la las le li lo los san santa ten ter van von zu'.split(
    ' ',
  ),
);

/** Parts a full name. A separator says where the family name ends, whatever the order; a single word is a family name. */
export function splitName(text: string, { order, separator }: Pick<FullName, 'order' | 'separator'>): Names {
  const cut = text.indexOf(separator);
  if (cut !== -1) {
    return { firstName: nonEmpty(text.slice(cut + separator.length)), lastName: nonEmpty(text.slice(0, cut)) };
  }
  const words = text.split(/\s+/).filter((word) => word !== '');
  const at = order === 'given-first' ? familyFrom(words) : familyTo(words);
  const [first, second] = [words.slice(0, at).join(' '), words.slice(at).join(' ')];
  return order === 'given-first'
    ? { firstName: nonEmpty(first), lastName: nonEmpty(second) }
    : { firstName: nonEmpty(second), lastName: nonEmpty(first) };
}

/** The first word of the family name: a particle behind the given name, else the last word. */
function familyFrom(words: readonly string[]): number {
  const particle = words.findIndex((word, at) => at > 0 && at < words.length - 1 && isParticle(word));
  return particle === -1 ? Math.max(0, words.length - 1) : particle;
}

/** The word behind the family name: particles and one more. */
function familyTo(words: readonly string[]): number {
  const name = words.findIndex((word) => !isParticle(word));
  return name === -1 ? words.length : name + 1;
}

function isParticle(word: string): boolean {
  return PARTICLES.has(word.toLowerCase());
}

function nonEmpty(text: string): string | null {
  return text.trim() === '' ? null : text.trim();
}

/** Prepares a name that stands in one field, where a row does not tell its parts. */
export function compileFullName(rule: FullName | null): (row: JsonObject, names: Names) => Names {
  if (rule === null) return (_row, names) => names;
  const read = compilePaths([rule.path]);
  return (row, names) => {
    if (names.firstName !== null || names.lastName !== null) return names;
    const text = read(row);
    return typeof text === 'string' && text.trim() !== '' ? splitName(text, rule) : names;
  };
}
