import { describe, expect, test } from 'vitest';
import { NO_DESCRIPTION } from '../../../src/connectors/event-content.ts';
import { additionsIn, additionsTextOf, withAdditionsOf } from '../../../src/connectors/google-calendar/additions.ts';

const GUEST = { email: 'guest@example.org', optional: true };
const FILE = { fileUrl: 'https://drive.example/f', title: 'plan.pdf' };
const MEETING = { conferenceId: 'abc', conferenceSolution: { key: { type: 'hangoutsMeet' } } };
const REMINDERS = { useDefault: false, overrides: [{ method: 'popup', minutes: 25 }] };
const event = (additions: object = {}, theirs = '') => ({
  ...{ descriptionParts: { ...NO_DESCRIPTION, theirs }, additions },
});

describe('additions of users', () => {
  test('are what clinic-mirror does not write, and presets that users changed', () => {
    const head = {
      id: 'a',
      colorId: '5',
      reminders: REMINDERS,
      attendees: [GUEST],
      attachments: [],
      conferenceData: MEETING,
    };
    expect(additionsIn(head, new Set())).toEqual({ attendees: [GUEST], conferenceData: MEETING });
    expect(additionsIn(head, new Set(['colour', 'reminderMinutes']))).toEqual({
      ...{ colorId: '5', reminders: REMINDERS, attendees: [GUEST], conferenceData: MEETING },
    });
    expect(additionsTextOf(event())).toBeUndefined();
  });

  test('are added with the parameters that Google needs for them, and not twice', () => {
    const text = additionsTextOf(
      event(
        { colorId: '5', reminders: REMINDERS, attendees: [GUEST], attachments: [FILE], conferenceData: MEETING },
        'Ring twice',
      ),
    );
    const { descriptionParts, fields, query } = withAdditionsOf(event(), text);
    expect(descriptionParts.theirs).toBe('Ring twice');
    expect(fields).toEqual({
      ...{ colorId: '5', reminders: REMINDERS, attendees: [GUEST], attachments: [FILE], conferenceData: MEETING },
    });
    expect(query).toEqual({ supportsAttachments: 'true', conferenceDataVersion: '1' });
    expect(withAdditionsOf(event(fields, descriptionParts.theirs), text)).toEqual({
      ...{ descriptionParts: { ...NO_DESCRIPTION, theirs: 'Ring twice' }, fields: {}, query: {} },
    });
  });

  test('join those of the event, whose own colour, reminders and meeting stay', () => {
    const text = additionsTextOf(event({ colorId: '5', attendees: [GUEST], conferenceData: MEETING }));
    const own = { colorId: '1', attendees: [{ email: 'b@example.org' }], conferenceData: { conferenceId: 'own' } };
    expect(withAdditionsOf(event(own), text).fields).toEqual({ attendees: [{ email: 'b@example.org' }, GUEST] });
  });
});
