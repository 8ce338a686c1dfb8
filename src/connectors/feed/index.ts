import type { ConnectorModule } from '../connector.ts';
import { loadedLater } from '../loaded-later.ts';
import { BATCH_SIZE, type FeedSettings, settingsSchema } from './schemas.ts';

/** Connector for calendars that clients fetch from clinic-mirror (iCalendar, RFC 5545). */
export const feed: ConnectorModule<FeedSettings> = {
  name: 'feed',
  vendor: 'ICS feed',
  streams: ['appointments'],
  holds: 'events',
  defaultTitle: 'busy',
  supports: {
    operations: ['create', 'update', 'delete'],
    batchSize: BATCH_SIZE,
    concurrency: 1,
    revivesKeys: true,
    keys: 'enforced',
    duplicatesAreOurs: true,
    presets: [],
    erases: ['appointments'],
  },
  connectionKinds: ['feed'],
  neededScopes: () => [],
  settingsSchema,
  errors: async () => (await import('./errors.ts')).errors,
  open: loadedLater({
    load: async () => (await import('./connector.ts')).openFeed,
    notifies: false,
  }),
};
