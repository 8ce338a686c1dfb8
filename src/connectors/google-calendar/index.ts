import type { ConnectorModule } from '../connector.ts';
import { loadedLater } from '../loaded-later.ts';
import { BATCH_SIZE, CONCURRENCY, LONGEST_DESCRIPTION } from './limits.ts';
import { type GoogleCalendarSettings, settingsSchema } from './schemas.ts';
import { readGoogleNotification } from './subscriptions.ts';

const SCOPES = 'https://www.googleapis.com/auth';

/** Connector for Google Calendar API v3. Uses an existing calendar or creates a dedicated calendar. */
export const googleCalendar: ConnectorModule<GoogleCalendarSettings> = {
  name: 'google-calendar',
  vendor: 'Google Calendar',
  streams: ['appointments'],
  holds: 'events',
  supports: {
    operations: ['create', 'update', 'delete'],
    batchSize: BATCH_SIZE,
    concurrency: CONCURRENCY,
    revivesKeys: true,
    keys: 'enforced',
    duplicatesAreOurs: true,
    longest: { description: LONGEST_DESCRIPTION },
    presets: ['colour', 'reminderMinutes', 'pageUrl'],
    // Google keeps deleted events readable for a while (reference of events, `status`), so own events are cleared first.
    erases: ['appointments'],
  },
  connectionKinds: ['google', 'google-service-account'],
  /**
   * Narrowest scopes in the reference of each method. An existing calendar requires events and a calendar check; a dedicated calendar
   * requires only app-created calendars.
   */
  neededScopes: ({ calendar }) =>
    'id' in calendar
      ? [`${SCOPES}/calendar.events`, `${SCOPES}/calendar.calendars.readonly`]
      : [`${SCOPES}/calendar.app.created`, `${SCOPES}/calendar.calendarlist.readonly`],
  settingsSchema,
  errors: async () => (await import('./errors.ts')).errors,
  open: loadedLater({
    load: async () => (await import('./connector.ts')).openGoogleCalendar,
    notifies: true,
    hasPages: () => true,
  }),
  readNotification: readGoogleNotification,
};
