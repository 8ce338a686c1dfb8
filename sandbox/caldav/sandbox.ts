import { createServer, type IncomingMessage, type RequestListener, type ServerResponse } from 'node:http';
import { text } from 'node:stream/consumers';
import { SandboxKit } from '../kit/kit.ts';
import { listenNode } from '../kit/listen.ts';
import { type CommonVerbs, commonVerbs } from '../kit/verbs.ts';
import { Account } from './account.ts';
import type { Answer } from './answers.ts';
import type { CaldavSandboxOptions, Quirks } from './options.ts';
import { placeAt } from './place.ts';
import { propfind } from './properties.ts';
import { report } from './reports.ts';
import { makeCalendar, move, put, remove } from './writes.ts';

/** A CalDAV server that runs. */
export interface CaldavSandbox extends CommonVerbs<Quirks> {
  user: string;
  password: string;
  /** Where the calendars are, with a slash at its end. */
  homePath: string;
  /** Valid value of the header Authorization. */
  authorization: string;
  /** Adds a calendar, as a user does; returns its path. */
  addCalendar(name: string): string;
}

const METHODS = 'OPTIONS, GET, PUT, DELETE, MOVE, PROPFIND, REPORT, MKCALENDAR';

/** Starts the sandbox on loopback. Throws when the port is taken. */
export async function startCaldavSandbox(options: CaldavSandboxOptions = {}): Promise<CaldavSandbox> {
  const account = new Account(options);
  const kit = new SandboxKit();
  const listener: RequestListener = (request, response) => {
    answer(account, request, response).catch(() => response.destroy());
  };
  const server = await listenNode(createServer(kit.wrap(listener)), options.port);
  return {
    ...commonVerbs(server, kit, account.quirks),
    user: account.user,
    password: account.password,
    homePath: account.homePath,
    authorization: account.authorization,
    addCalendar(name) {
      account.addCalendar(name);
      return `${account.homePath}${name}/`;
    },
  };
}

async function answer(account: Account, request: IncomingMessage, response: ServerResponse): Promise<void> {
  const body = await text(request);
  const { status, headers = {}, body: content = '' } = answerTo(account, request, body);
  const length = status === 204 ? {} : { 'content-length': String(Buffer.byteLength(content)) };
  response.writeHead(status, { dav: '1, 3, calendar-access', ...headers, ...length });
  response.end(content);
}

function answerTo(account: Account, { method = '', url = '/', headers }: IncomingMessage, body: string): Answer {
  const { pathname } = new URL(url, 'http://sandbox');
  if (pathname === '/.well-known/caldav') return { status: 301, headers: { location: '/' } };
  if (headers.authorization !== account.authorization) {
    return { status: 401, headers: { 'www-authenticate': 'Basic realm="calendars"' } };
  }
  const place = placeAt(account, pathname);
  if (place === undefined) return { status: 404 };
  const conditions = { ifMatch: headers['if-match'], ifNoneMatch: headers['if-none-match'] };
  switch (method) {
    case 'OPTIONS':
      return { status: 200, headers: { allow: METHODS } };
    case 'GET':
      return get(place.object);
    case 'PUT':
      return put(account, place, body, conditions);
    case 'DELETE':
      return remove(account, place, conditions);
    case 'MOVE':
      return move(account, place, String(headers.destination));
    case 'MKCALENDAR':
      return makeCalendar(account, place, body);
    case 'REPORT':
      return report(account, place, body);
    case 'PROPFIND':
      return isThere(place) ? propfind(account, place, String(headers.depth ?? '1')) : { status: 404 };
    default:
      return { status: 405, headers: { allow: METHODS } };
  }
}

function get(object: { data: string; etag: string } | undefined): Answer {
  if (object === undefined) return { status: 404 };
  return {
    status: 200,
    headers: { etag: object.etag, 'content-type': 'text/calendar; charset=utf-8' },
    body: object.data,
  };
}

function isThere({ calendarName, calendar, name, object }: ReturnType<typeof placeAt> & object): boolean {
  if (calendarName === undefined) return true;
  return name === undefined ? calendar !== undefined : object !== undefined;
}
