import type { ConnectorModule } from '../connector.ts';
import { loadedLater } from '../loaded-later.ts';
import { BATCH_SIZE, CONCURRENCY, LONGEST_LINE } from './limits.ts';
import { type OutlookCalendarSettings, settingsSchema } from './schemas.ts';
import { readGraphNotification } from './subscriptions.ts';

const SCOPES = 'https://graph.microsoft.com';

/** Microsoft Graph, calendar part: an existing calendar of a mailbox, or one of our own. */
export const outlookCalendar: ConnectorModule<OutlookCalendarSettings> = {
  name: 'outlook-calendar',
  streams: ['appointments'],
  holds: 'events',
  supports: {
    operations: ['create', 'update', 'delete'],
    batchSize: BATCH_SIZE,
    concurrency: CONCURRENCY,
    createsContainer: true,
    revivesKeys: false,
    keys: 'enforced',
    duplicatesAreOurs: false,
    longest: { title: LONGEST_LINE, location: LONGEST_LINE },
    presets: ['category', 'reminderMinutes'],
    // What is deleted permanently lies in the mailbox's Purges, out of reach of its user and of this API, until Exchange's own time is
    // up, or for as long as a hold lasts (learn.microsoft.com/graph/api/event-permanentdelete).
    erases: [],
  },
  connectionKinds: ['microsoft', 'microsoft-app'],
  /** Another person's mailbox needs the permission for shared calendars beside the own one. */
  neededScopes: ({ mailbox }) => [
    mailbox === 'me' ? `${SCOPES}/Calendars.ReadWrite` : `${SCOPES}/Calendars.ReadWrite.Shared`,
  ],
  settingsSchema,
  open: loadedLater({
    load: async () => (await import('./connector.ts')).openOutlookCalendar,
    locates: ({ calendar }) => 'create' in calendar,
    notifies: true,
    hasPages: () => true,
  }),
  readNotification: readGraphNotification,
};
