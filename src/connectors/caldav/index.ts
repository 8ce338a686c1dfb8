import type { ConnectorModule } from '../connector.ts';
import { loadedLater } from '../loaded-later.ts';
import { BATCH_SIZE } from './limits.ts';
import { type CaldavSettings, settingsSchema } from './schemas.ts';

/**
 * Connector for calendars on CalDAV servers.
 * @see RFC 4791
 */
export const caldav: ConnectorModule<CaldavSettings> = {
  name: 'caldav',
  vendor: 'CalDAV',
  streams: ['appointments'],
  holds: 'events',
  supports: {
    operations: ['create', 'update', 'delete'],
    batchSize: BATCH_SIZE,
    concurrency: 1,
    revivesKeys: true,
    // Enforced by name. A client may have renamed an object, so its UID is searched before the object is created again.
    keys: 'enforced',
    mayLoseNames: true,
    duplicatesAreOurs: true,
    presets: ['colour', 'category', 'reminderMinutes', 'noAlert', 'pageUrl', 'teleVisitUrl'],
    // Servers with a trash bin (Nextcloud) keep deleted objects, which are cleared first. CalDAV cannot report other copies that a server
    // keeps.
    erases: [],
  },
  connectionKinds: ['caldav'],
  neededScopes: () => [],
  settingsSchema,
  errors: async () => (await import('./errors.ts')).errors,
  open: loadedLater({
    load: async () => (await import('./connector.ts')).openCaldav,
    notifies: false,
  }),
};
