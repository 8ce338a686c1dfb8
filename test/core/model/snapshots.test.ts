import { expect, test } from 'vitest';
import { countEach, sentenceOfRemark } from '../../../src/core/model/snapshots.ts';
import { render } from '../../../src/messages/message.ts';

test('each name is counted, and none that does not come', () => {
  expect(countEach(['end', 'start', 'end'])).toEqual({ end: 2, start: 1 });
  expect(countEach([])).toEqual({});
});

test('a path without a result is reported with the field of the profile to correct', () => {
  const remark = { code: 'path-empty', list: 'agendas', field: 'name', path: '$.label', rows: 1 } as const;
  expect(render(sentenceOfRemark(remark))).toBe(
    'agendas.fields.name: the path $.label found nothing in 1 record; correct the path in the clinic profile',
  );
});

test('an unread zone is reported with at most three of its names', () => {
  const zones = ['Europe/Rome', 'Europe/Paris', 'Asia/Tokyo', 'Asia/Seoul'];
  const remark = { code: 'zone-unread', list: 'appointments', field: 'zone', path: '$.tz', rows: 12, zones } as const;
  const sentence = render(sentenceOfRemark(remark));
  expect(sentence).toContain('$.tz names the zone Europe/Rome, Europe/Paris, Asia/Tokyo in 12 records');
  expect(sentence).toContain('add $.tz to appointments.fields.zone');
});

test('a remark about rows that a list announces names the field and both remedies', () => {
  const remark = { code: 'more-told', list: 'appointments', field: 'paging', path: 'altre', rows: 37 } as const;
  expect(render(sentenceOfRemark(remark))).toBe(
    'appointments: altre in the response announces more records than 37 records, so the list is partial; set paging for appointments in the clinic profile, or add altre to paging.ignoredPaths if it has another meaning',
  );
});
