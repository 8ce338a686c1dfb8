/** Sends an HTTP request with a JSON body or none, and parses the JSON answer; `body` is undefined for an empty answer. */
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
