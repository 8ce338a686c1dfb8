import { createHash } from 'node:crypto';
import { z } from 'zod';
import { parseJson } from '../model/json.ts';

/**
 * Longest cursor that is kept, in characters. Vendors set no limit to what they give; links of Graph are of one or two
 * thousand. With a longer one the feed is as if it had none: the next reading is whole.
 */
export const MAX_CURSOR_LENGTH = 8_192;

const envelopeSchema = z.object({ container: z.string(), place: z.unknown() });

/**
 * A cursor for the caller to keep: a vendor's place in the feed of one container.
 * @param place JSON without patient data
 * @returns null when it is longer than {@link MAX_CURSOR_LENGTH}
 */
export function toCursor(container: string, place: unknown): string | null {
  const envelope: z.infer<typeof envelopeSchema> = { container: nameOf(container), place };
  const cursor = Buffer.from(JSON.stringify(envelope)).toString('base64url');
  return cursor.length > MAX_CURSOR_LENGTH ? null : cursor;
}

/** The place that a cursor stands for; null for none, for another container's and for what is no cursor of this shape. */
export function fromCursor<Place>(container: string, cursor: string | null, schema: z.ZodType<Place>): Place | null {
  if (cursor === null || cursor.length > MAX_CURSOR_LENGTH) return null;
  const envelope = envelopeSchema.safeParse(parseJson(Buffer.from(cursor, 'base64url').toString('utf8')));
  if (!envelope.success || envelope.data.container !== nameOf(container)) return null;
  return schema.safeParse(envelope.data.place).data ?? null;
}

/** A container's id can be a mail address, so it is not written into the cursor. */
function nameOf(container: string): string {
  return createHash('sha256').update(container).digest('base64url').slice(0, 16);
}
