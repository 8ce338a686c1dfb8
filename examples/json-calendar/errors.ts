import { COMMON, contract, defineOwnErrors, refusal, remote, settings } from '../../src/connectors/errors.ts';

/** Errors of a calendar in a file, with message and remedy. */
export const errors = defineOwnErrors('JSON calendar', {
  'changed-meanwhile': [COMMON['changed-meanwhile'], 'another program changed the calendar at the same time'],
  'calendar-gone': [settings.target({ provesGone: true }), 'the file does not exist', 'restore the file'],
  'calendar-locked': [remote.target({ ambiguous: false }), 'another program is writing the file'],
  'calendar-too-large': [settings.target({ retry: 'later' }), 'the file is too large', 'remove old events'],
  'calendar-unreadable': [contract.target(), 'the file is not a readable calendar'],
  'not-permitted': [settings.target(), 'the file is not accessible', 'permit the daemon to write the folder'],
  'storage-failed': [remote.target({ ambiguous: true }), 'the file system reports an error'],
  'ends-before-start': [refusal.item(), 'the event ends before its start'],
});
