import { type Code, isCode, type Message, namesIn, render } from '../../messages/message.ts';

/** Values of sample messages. Templates without a value here show the name of the value in angle brackets. */
const SAMPLES: Readonly<Record<string, string>> = {
  calendar: 'Appointments',
  connection: 'practice-google',
  label: 'clinic.appointments.list',
  target: 'doctor-1',
  tenant: 'aurora',
};

/** Areas of message keys, such as `clinic.not-found`, in the order of preference. Vendors' messages are in their own table. */
const AREAS = ['clinic', 'oauth', 'api', 'managed', 'settings', 'remark', 'port'];

/** Returns the message of a code with sample values, as a sentence; null for a code without a message. */
export function sampleOf(code: string): string | null {
  const key = [code, ...AREAS.map((area) => `${area}.${code}`)].find(isCode);
  return key === undefined ? null : sample({ code: key as Code });
}

/** Returns a text with sample values, as a sentence. */
export function sample(text: Message): string {
  const names = namesIn(render({ code: text.code })).filter((name) => text.values?.[name] === undefined);
  const samples = Object.fromEntries(names.map((name) => [name, SAMPLES[name] ?? `\\<${name}>`]));
  return sentence(render({ code: text.code, values: { ...text.values, ...samples } }));
}

/** Returns a text with a full stop, and with a capital letter unless the first word is a code or a name. */
export function sentence(text: string): string {
  const first = /^[a-z]+[ ,:]/.test(text) ? text.charAt(0).toUpperCase() + text.slice(1) : text;
  return /[.!?]$/.test(first) ? first : `${first}.`;
}
