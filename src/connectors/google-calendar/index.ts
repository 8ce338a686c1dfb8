import type { ConnectorModule } from '../connector.ts';
import { loadedLater } from '../loaded-later.ts';
import { BATCH_SIZE, CONCURRENCY, LONGEST_DESCRIPTION } from './limits.ts';
import { type GoogleCalendarSettings, settingsSchema } from './schemas.ts';
import { readGoogleNotification } from './subscriptions.ts';

const SCOPES = 'https://www.googleapis.com/auth';

/** Google Calendar API v3: an existing calendar, or one of our own. */
export const googleCalendar: ConnectorModule<GoogleCalendarSettings> = {
  name: 'google-calendar',
  streams: ['appointments'],
  holds: 'events',
  supports: {
    operations: ['create', 'update', 'delete'],
    batchSize: BATCH_SIZE,
    concurrency: CONCURRENCY,
    createsContainer: true,
    revivesKeys: true,
    keys: 'enforced',
    duplicatesAreOurs: true,
    longest: { description: LONGEST_DESCRIPTION },
    presets: ['colour', 'reminderMinutes', 'pageUrl'],
    // Google keeps deleted events readable for a while (reference of events, `status`): ours are emptied before.
    erases: ['appointments'],
  },
  connectionKinds: ['google', 'google-service-account'],
  /** The narrowest that the reference of each method allows: events and the check of an existing calendar, or only calendars of our own. */
  neededScopes: ({ calendar }) =>
    'id' in calendar
      ? [`${SCOPES}/calendar.events`, `${SCOPES}/calendar.calendars.readonly`]
      : [`${SCOPES}/calendar.app.created`, `${SCOPES}/calendar.calendarlist.readonly`],
  settingsSchema,
  open: loadedLater({
    load: async () => (await import('./connector.ts')).openGoogleCalendar,
    locates: ({ calendar }) => 'create' in calendar,
    notifies: true,
    hasPages: () => true,
  }),
  readNotification: readGoogleNotification,
};
