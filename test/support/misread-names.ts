/*
 * JSON.parse of Node 24.21 may return the name `"` as `\` after an object had both names. Such names prove nothing about clinic-mirror's
 * reader, because the engine reads the same text in two ways.
 */

/** Whether the engine may take a member's name for another one. */
export function mayBeMisread(name: string): boolean {
  return name.includes('\\');
}

/** Whether a text of JSON may hold such a name. */
export function mayHoldMisread(json: string): boolean {
  return /\\\\|\\u005c/i.test(json);
}
