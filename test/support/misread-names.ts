/*
 * JSON.parse of Node 24.21 may give the name `"` as `\`, once an object had both: such names tell nothing of a reader of ours, since the
 * same text is read in two ways by the engine itself.
 */

/** Whether the engine may take a member's name for another one. */
export function mayBeMisread(name: string): boolean {
  return name.includes('\\');
}

/** Whether a text of JSON may hold such a name. */
export function mayHoldMisread(json: string): boolean {
  return /\\\\|\\u005c/i.test(json);
}
