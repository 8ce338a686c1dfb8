/**
 * Returns the forms in which a string could occur within a request: plain, in JSON with every other letter escaped, percent-encoded, with
 * entities, in hexadecimal, and in base64 at each of its three offsets within a longer string. Only base64 is case-sensitive.
 */
function formsOf(trace: string): { form: string; exact: boolean }[] {
  const bytes = Buffer.from(trace);
  const loose = [
    trace,
    trace.normalize('NFD'),
    JSON.stringify(trace).slice(1, -1),
    jsonEscaped(trace),
    encodeURIComponent(trace),
    encodeURIComponent(trace).replaceAll('%20', '+'),
    percentEncoded(bytes),
    trace.replace(/[^ -~]/gu, (letter) => `&#${letter.codePointAt(0)};`),
    bytes.toString('hex'),
  ];
  return [
    ...loose.map((form) => ({ form: form.toLowerCase(), exact: false })),
    ...base64Forms(trace).map((form) => ({ form, exact: true })),
    ...base64Forms(trace.toLowerCase()).map((form) => ({ form, exact: true })),
    ...base64Forms(trace.toUpperCase()).map((form) => ({ form, exact: true })),
  ];
}

/** Returns the traces that occur in a text in any form. */
export function tracesIn(text: string, traces: readonly string[]): string[] {
  const small = text.toLowerCase();
  return traces.filter((trace) => formsOf(trace).some(({ form, exact }) => (exact ? text : small).includes(form)));
}

function jsonEscaped(trace: string): string {
  const escaped = (letter: string) => `\\u${letter.charCodeAt(0).toString(16).padStart(4, '0')}`;
  return Array.from({ length: trace.length }, (_, index) => trace[index] ?? '')
    .map((letter) => (letter > '~' ? escaped(letter) : letter))
    .join('');
}

function percentEncoded(bytes: Buffer): string {
  return [...bytes].map((byte) => `%${byte.toString(16).padStart(2, '0')}`).join('');
}

/** Returns the base64 parts that do not depend on the text before and after the trace. */
function base64Forms(trace: string): string[] {
  return [0, 1, 2].flatMap((before) => {
    const bytes = Buffer.concat([Buffer.alloc(before), Buffer.from(trace)]);
    const whole = Math.floor(bytes.length / 3) * 4;
    // The first group holds bytes from before.
    const own = (text: string) => text.slice(before === 0 ? 0 : 4, whole);
    return [own(bytes.toString('base64')), own(bytes.toString('base64url'))];
  });
}
