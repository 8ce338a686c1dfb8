import { expect, onTestFinished, test } from 'vitest';
import { calendarsOf } from '../../demo/read-targets.ts';
import { startGoogleSandbox } from '../../sandbox/google/index.ts';

test('an observer of a calendar does not use the quota of the daemon', async () => {
  const google = await startGoogleSandbox({ quotaPerUserPerMinute: 3 });
  onTestFinished(() => google.close());
  google.createCalendar('anna@example.com', 'Room');
  await calendarsOf(google, 'anna@example.com');
  await expect(calendarsOf(google, 'anna@example.com')).rejects.toThrow('status 403');
  const token = google.issueAccessToken('anna@example.com');
  const url = `${google.calendarApiUrl}/calendar/v3/users/me/calendarList`;
  const answer = await fetch(url, { headers: { authorization: `Bearer ${token}` } });
  expect(answer.status).toBe(200);
});
