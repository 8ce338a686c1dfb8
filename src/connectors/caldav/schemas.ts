import { z } from 'zod';
import { issueText, message } from '../../messages/message.ts';
import { OWN_CALENDAR } from '../owner.ts';

const address = z.url({ protocol: /^https?$/ }).refine(isAcceptableAddress, issueText(message('caldav.address')));

const existingCalendar = z
  .strictObject({ url: address.describe('CalDAV URL of an existing calendar.') })
  .meta({ description: 'An existing calendar.' });

const ownCalendar = z
  .strictObject({
    home: z
      .union([z.literal('discover'), address])
      .describe('URL of the calendar home, or `discover` to query the server.'),
    create: z.string().trim().min(1).max(200).meta(OWN_CALENDAR),
  })
  .meta({ description: 'A calendar that clinic-mirror creates once, with this display name, in this calendar home.' });

/** CalDAV-specific part of a target in the tenant file. */
export const settingsSchema = z
  .strictObject({
    server: address.optional().meta({
      description: 'URL at which discovery starts. Required only for `home: discover`.',
      examples: ['https://caldav.icloud.com'],
    }),
    calendar: z.union([existingCalendar, ownCalendar]),
  })
  .refine(({ server, calendar }) => server !== undefined || !('home' in calendar) || calendar.home !== 'discover', {
    message: issueText(message('caldav.server-needed')),
    path: ['server'],
  });

export type CaldavSettings = z.infer<typeof settingsSchema>;

/** Checks whether credentials may be sent to this URL: https, or http on this host or within a container network. */
export function isAcceptableAddress(text: string): boolean {
  const url = URL.parse(text);
  if (url === null || url.username !== '' || url.password !== '') return false;
  if (url.protocol === 'https:') return true;
  return /^127\.|^\[::1\]$/.test(url.hostname) || !/[.:]/.test(url.hostname);
}

/** Returns the URL whose site limits all requests of a target. */
export function baseAddress({ server, calendar }: CaldavSettings): URL {
  return new URL(server ?? ('url' in calendar ? calendar.url : calendar.home));
}
