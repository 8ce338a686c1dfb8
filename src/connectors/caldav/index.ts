import type { ConnectorModule } from '../connector.ts';
import { loadedLater } from '../loaded-later.ts';
import { BATCH_SIZE } from './limits.ts';
import { type CaldavSettings, settingsSchema } from './schemas.ts';

/**
 * Calendars on servers that speak CalDAV.
 * @see RFC 4791
 */
export const caldav: ConnectorModule<CaldavSettings> = {
  name: 'caldav',
  streams: ['appointments'],
  holds: 'events',
  supports: {
    operations: ['create', 'update', 'delete'],
    batchSize: BATCH_SIZE,
    concurrency: 1,
    createsContainer: true,
    revivesKeys: true,
    // By name; a client may have renamed an object, so its UID is looked for before one is made again.
    keys: 'enforced',
    duplicatesAreOurs: true,
    presets: ['colour', 'category', 'reminderMinutes', 'noAlert', 'pageUrl', 'teleVisitUrl'],
    // Servers with a trash bin (Nextcloud) keep deleted objects, ours emptied; what else a server keeps, CalDAV has no words to ask.
    erases: [],
  },
  connectionKinds: ['caldav'],
  neededScopes: () => [],
  settingsSchema,
  open: loadedLater({
    load: async () => (await import('./connector.ts')).openCaldav,
    locates: ({ calendar }) => 'create' in calendar,
    notifies: false,
  }),
};
