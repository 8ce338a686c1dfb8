import { z } from 'zod';
import { COLOURS, type Presets } from '../model/items.ts';

const presetsSchema = z.strictObject({
  colour: z.enum(COLOURS).exactOptional(),
  category: z.string().exactOptional(),
  reminderMinutes: z.union([z.number(), z.literal('none')]).exactOptional(),
  pageUrl: z.string().exactOptional(),
  teleVisitUrl: z.string().exactOptional(),
});

/** One of the presets. */
export type PresetName = keyof Presets;

const NAMES = Object.keys(presetsSchema.shape) as PresetName[];

/** The presets of an event: those of our last write, which are stamped on it, and which of all are a person's by now. */
export interface PresetsThere {
  last: Presets;
  theirs: ReadonlySet<PresetName>;
}

/** Of an event that nobody looked at: where there may be presets, a write looks first. */
export const NO_PRESETS: PresetsThere = { last: {}, theirs: new Set() };

/** The presets of an item as the text that its event is stamped with: JSON in base64url, in which nothing needs escaping on any wire. */
export function toPresetsText(presets: Presets): string {
  return Buffer.from(JSON.stringify(presets)).toString('base64url');
}

/** Reads that text; no presets where it is missing, or not one of ours. */
export function fromPresetsText(text: string | null | undefined): Presets {
  if (text === null || text === undefined) return {};
  try {
    return presetsSchema.safeParse(JSON.parse(Buffer.from(text, 'base64url').toString())).data ?? {};
  } catch {
    return {};
  }
}

/** As a part of an item that may have none. */
export function withPresets(presets: Presets): { presets?: Presets } {
  return hasPresets(presets) ? { presets } : {};
}

/** Whether there is any. */
export function hasPresets(presets: Presets | undefined): boolean {
  return presets !== undefined && Object.keys(presets).length > 0;
}

/**
 * Whose the presets of an event are. One that is not as our last write left it is a person's, removed ones too, until it is so again.
 * @param shown what the event shows of each, in our words where they are ours; absent for nothing
 */
export function presetsThere(last: Presets, shown: Partial<Record<PresetName, unknown>>): PresetsThere {
  return { last, theirs: new Set(NAMES.filter((name) => shown[name] !== last[name])) };
}

/** What a write changes: the presets that are wanted otherwise than before and are nobody's own; null where one is to go. */
export function presetChanges(
  { last, theirs }: PresetsThere,
  wanted: Presets = {},
): { [Name in PresetName]?: Presets[Name] | null } {
  const changed = NAMES.filter((name) => !theirs.has(name) && wanted[name] !== last[name]);
  return Object.fromEntries(changed.map((name) => [name, wanted[name] ?? null]));
}
