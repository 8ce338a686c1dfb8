/** Asks over HTTP, with JSON or nothing as the body, and reads what comes as JSON; `body` is undefined where nothing comes. */
export async function sendJson(
  url: string,
  method: string,
  body?: unknown,
  // biome-ignore lint/suspicious/noExplicitAny: answers of many shapes
): Promise<{ status: number; body: any }> {
  const response = await fetch(url, {
    method,
    ...(body === undefined ? {} : { body: JSON.stringify(body), headers: { 'content-type': 'application/json' } }),
  });
  const text = await response.text();
  return { status: response.status, body: text === '' ? undefined : JSON.parse(text) };
}
