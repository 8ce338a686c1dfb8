import type { ConnectorModule } from '../../src/connectors/connector.ts';
import { openJsonCalendar } from './connector.ts';
import { LONGEST } from './events.ts';
import { fileSystem } from './files.ts';
import { type JsonCalendarSettings, settingsSchema } from './schemas.ts';

/** Connector for calendars that are JSON files. */
export const jsonCalendar: ConnectorModule<JsonCalendarSettings> = {
  name: 'json-calendar',
  vendor: 'JSON file',
  streams: ['appointments'],
  holds: 'events',
  supports: {
    operations: ['create', 'update', 'delete'],
    batchSize: 100,
    concurrency: 1,
    revivesKeys: true,
    keys: 'enforced',
    duplicatesAreOurs: true,
    longest: LONGEST,
    presets: [],
    erases: ['appointments'],
  },
  connectionKinds: [],
  neededScopes: () => [],
  settingsSchema,
  open: (context) => openJsonCalendar(context, fileSystem),
};
