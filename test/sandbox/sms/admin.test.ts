import { expect, onTestFinished, test } from 'vitest';
import { startSmsSandbox } from '../../../sandbox/sms/index.ts';
import { startReceiver } from '../../support/receiver.ts';

async function open() {
  const sandbox = await startSmsSandbox();
  const receiver = await startReceiver();
  onTestFinished(async () => void (await Promise.all([sandbox.close(), receiver.close()])));
  const own = async (method: string, path: string, body?: object) => {
    const answer = await fetch(`${sandbox.url}/__sandbox/${path}`, {
      method,
      ...(body === undefined ? {} : { body: JSON.stringify(body), headers: { 'content-type': 'application/json' } }),
    });
    const text = await answer.text();
    return { status: answer.status, body: text === '' ? undefined : JSON.parse(text) };
  };
  const message = async (fields: Record<string, string>) => {
    const login = Buffer.from(`${sandbox.accountSid}:${sandbox.authToken}`).toString('base64');
    const answer = await fetch(`${sandbox.url}/2010-04-01/Accounts/${sandbox.accountSid}/Messages.json`, {
      method: 'POST',
      headers: { authorization: `Basic ${login}` },
      body: new URLSearchParams({ To: '+393331234567', From: sandbox.from, Body: 'Tomorrow at nine.', ...fields }),
    });
    return answer.status;
  };
  return { sandbox, receiver, own, message };
}

test('shows over HTTP the messages to phones, and forgets them', async () => {
  const { own, message } = await open();
  await message({});
  expect((await own('GET', 'messages')).body.items).toMatchObject([{ to: '+393331234567', body: 'Tomorrow at nine.' }]);
  expect((await own('GET', 'messages?to=%2B10000000')).body.items).toEqual([]);
  expect((await own('DELETE', 'messages')).status).toBe(204);
  expect((await own('GET', 'messages')).body.items).toEqual([]);
});

test('sends status reports and replies that another process orders, signed', async () => {
  const { sandbox, receiver, own, message } = await open();
  await message({ StatusCallback: `${receiver.url}/status` });
  const { sid } = sandbox.messages()[0]!;
  expect((await own('POST', `messages/${sid}/status`, { status: 'delivered' })).body).toEqual({ answered: 202 });
  const reply = { from: '+393331234567', text: 'STOP', address: `${receiver.url}/incoming` };
  expect((await own('POST', 'replies', reply)).body).toEqual({ answered: 202 });
  expect(receiver.requests.map(({ path }) => path)).toEqual(['/status', '/incoming']);
  for (const { headers } of receiver.requests) expect(headers['x-twilio-signature']).toBeTruthy();
  expect(await message({})).toBe(400);
  await message({ To: '+393337654321' });
  const silent = sandbox.messages('+393337654321')[0]!.sid;
  expect((await own('POST', `messages/${silent}/status`, { status: 'failed' })).body).toEqual({ answered: null });
});
