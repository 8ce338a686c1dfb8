import type { ConnectorModule } from '../connector.ts';
import { loadedLater } from '../loaded-later.ts';
import { BATCH_SIZE, CONCURRENCY, LONGEST_LINE } from './limits.ts';
import { type OutlookCalendarSettings, settingsSchema } from './schemas.ts';
import { readGraphNotification } from './subscriptions.ts';

const SCOPES = 'https://graph.microsoft.com';

/** Connector for the calendar part of Microsoft Graph. Uses an existing calendar of a mailbox or creates a dedicated calendar. */
export const outlookCalendar: ConnectorModule<OutlookCalendarSettings> = {
  name: 'outlook-calendar',
  vendor: 'Outlook',
  streams: ['appointments'],
  holds: 'events',
  supports: {
    operations: ['create', 'update', 'delete'],
    batchSize: BATCH_SIZE,
    concurrency: CONCURRENCY,
    revivesKeys: false,
    keys: 'enforced',
    // An event that a user moved away and back, or copied with all properties, carries the record's key.
    duplicatesAreOurs: true,
    longest: { title: LONGEST_LINE, location: LONGEST_LINE },
    presets: ['category', 'reminderMinutes'],
    // Exchange keeps permanently deleted events in the mailbox's Purges folder until Exchange's retention time is over, or as long as a
    // hold lasts. Neither the user nor this API can access that folder (learn.microsoft.com/graph/api/event-permanentdelete).
    erases: [],
  },
  connectionKinds: ['microsoft', 'microsoft-app'],
  /** A different user's mailbox requires the permission for shared calendars. */
  neededScopes: ({ mailbox }) => [
    mailbox === 'me' ? `${SCOPES}/Calendars.ReadWrite` : `${SCOPES}/Calendars.ReadWrite.Shared`,
  ],
  settingsSchema,
  errors: async () => (await import('./errors.ts')).errors,
  open: loadedLater({
    load: async () => (await import('./connector.ts')).openOutlookCalendar,
    notifies: true,
    hasPages: () => true,
  }),
  readNotification: readGraphNotification,
};
