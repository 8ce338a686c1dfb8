import { isAbsolute } from 'node:path';
import { z } from 'zod';
import { OWN_CALENDAR } from '../../src/connectors/owner.ts';

const fileName = z.string().regex(/^\w[\w .-]*\.json$/);

/** Part of a target in the tenant file. */
export const settingsSchema = z.strictObject({
  folder: z.string().refine(isAbsolute).describe('Absolute path of the folder with the calendars.'),
  calendar: z.union([
    z.strictObject({ id: fileName.describe('Name of the file.') }),
    z.strictObject({ create: z.string().trim().min(1).max(100).describe(OWN_CALENDAR.description) }),
  ]),
});
export type JsonCalendarSettings = z.output<typeof settingsSchema>;
