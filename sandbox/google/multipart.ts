import type { IncomingHttpHeaders } from 'node:http';
import { ApiError } from './errors.ts';

/** An HTTP request inside a part of a multipart/mixed body (`application/http`). */
export interface InnerRequest {
  /** As sent, angle brackets included; undefined when the part has none. */
  contentId: string | undefined;
  method: string;
  url: string;
  headers: IncomingHttpHeaders;
  body: string;
}

/** An answer for one part. */
export interface InnerResponse {
  contentId: string | undefined;
  status: number;
  headers: Record<string, string>;
  body: string;
}

/** Splits a batch body (RFC 2046 §5.1) into its requests. Throws ApiError 400 when it is malformed. */
export function parseBatch(contentType: string, body: string): InnerRequest[] {
  const boundary = /^multipart\/mixed\s*;.*?\bboundary=(?:"([^"]+)"|([^\s;]+))/i.exec(contentType);
  const delimiter = `--${boundary?.[1] ?? boundary?.[2]}`;
  if (!boundary) {
    throw malformed('Missing boundary in multipart body.');
  }
  const parts = `\n${body.replaceAll('\r\n', '\n')}`.split(`\n${delimiter}`);
  if (parts.length < 2 || !parts.at(-1)?.startsWith('--')) {
    throw malformed('Missing end boundary in multipart body.');
  }
  return parts.slice(1, -1).map(parsePart);
}

/** Writes a batch answer: parts of type application/http, content ids as `<response-…>`. */
export function formatBatch(
  boundary: string,
  responses: InnerResponse[],
  reasonOf: (status: number) => string,
): string {
  const parts = responses.map((response) => {
    const id = response.contentId === undefined ? [] : [`Content-ID: ${answerId(response.contentId)}`];
    const headers = Object.entries(response.headers).map(([name, value]) => `${name}: ${value}`);
    const statusLine = `HTTP/1.1 ${response.status} ${reasonOf(response.status)}`;
    const lines = [
      `--${boundary}`,
      'Content-Type: application/http',
      ...id,
      '',
      statusLine,
      ...headers,
      '',
      response.body,
    ];
    return `${lines.join('\r\n')}\r\n`;
  });
  return `${parts.join('')}--${boundary}--\r\n`;
}

function answerId(contentId: string): string {
  return contentId.startsWith('<') ? `<response-${contentId.slice(1)}` : `response-${contentId}`;
}

function parsePart(part: string): InnerRequest {
  const outer = splitHead(part.replace(/^[ \t]*\n/, ''));
  const outerHeaders = parseHeaders(outer.head.split('\n'));
  if (outerHeaders['content-type']?.split(';', 1)[0]?.trim() !== 'application/http') {
    throw malformed('A part of a batch must be application/http.');
  }
  const inner = splitHead(outer.rest.replace(/^\n+/, ''));
  const [requestLine, ...headerLines] = inner.head.split('\n');
  const request = /^([A-Z]+) (\/[^\s]*)(?: HTTP\/1\.[01])?$/.exec(requestLine ?? '');
  if (!request) {
    throw malformed('A part of a batch must begin with a method and a path.');
  }
  return {
    contentId: outerHeaders['content-id']?.toString(),
    method: request[1]!,
    url: request[2]!,
    headers: parseHeaders(headerLines),
    body: inner.rest.trim(),
  };
}

function splitHead(text: string): { head: string; rest: string } {
  const end = text.indexOf('\n\n');
  return end < 0 ? { head: text.trimEnd(), rest: '' } : { head: text.slice(0, end), rest: text.slice(end + 2) };
}

function parseHeaders(lines: string[]): IncomingHttpHeaders {
  const headers: IncomingHttpHeaders = {};
  for (const line of lines.filter((each) => each !== '')) {
    const colon = line.indexOf(':');
    if (colon < 1) {
      throw malformed('Malformed header in a part of a batch.');
    }
    headers[line.slice(0, colon).trim().toLowerCase()] = line.slice(colon + 1).trim();
  }
  return headers;
}

function malformed(message: string): ApiError {
  return new ApiError(400, 'badRequest', message);
}
