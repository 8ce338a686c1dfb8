import { randomUUID } from 'node:crypto';
import ICAL from 'ical.js';
import { startFaultProxy } from '../../sandbox/kit/fault-proxy.ts';
import { feed } from '../../src/connectors/feed/index.ts';
import { calendarText } from '../../src/connectors/icalendar.ts';
import { createTenantFeeds } from '../../src/features/feeds/store.ts';
import { createSealer } from '../../src/state/sealing.ts';
import { shownEvent } from '../connectors/caldav/dav-target.ts';
import { useRedis } from '../support/redis.ts';
import { describeConnector } from './connector-contract.ts';
import type { ContractTarget, RemoteObject } from './contract-target.ts';

const redis = useRedis();
const RING = [{ id: 'k1', key: Buffer.alloc(32, 3) }];
const NEVER = () => Promise.reject(new Error('a feed is read-only'));

/** A feed, as seen by a subscriber who fetched all of it. */
async function openFeedTarget(): Promise<ContractTarget> {
  const proxy = await startFaultProxy('http://127.0.0.1:9');
  const feeds = createTenantFeeds(redis.connect(), 'aurora', createSealer(RING, 'aurora'), Buffer.alloc(32, 4));
  const shelf = feeds.feedStore(randomUUID());
  async function objects(): Promise<RemoteObject[]> {
    const entries = await shelf.entries();
    const calendar = ICAL.Component.fromString(calendarText('Room; 1', entries));
    return calendar.getAllSubcomponents('vevent').map((event) => {
      const remoteId = String(event.getFirstPropertyValue('uid'));
      const { ownerTag, sealedRecordId } = entries.get(remoteId)!;
      return { ...shownEvent(calendar, event), remoteId, ownerTag, sealedRecordId, version: event.toString() };
    });
  }
  let ticks = 0;
  const clock = () => {
    ticks += 1;
    return Date.UTC(2026, 10, 20) + ticks * 1_000;
  };
  const authorizer = { header: async () => '', renew: async () => '', quotaUser: null };
  return {
    supports: feed.supports,
    container: 'feed',
    authorizer,
    open: ({ createCalendar: _, ...worker }) => {
      return feed.open({ ...worker, settings: { name: 'Room; 1' }, feedStore: shelf, clock, zone: 'Europe/Rome' });
    },
    proxy,
    server: {
      objects,
      ...{
        editByHand: NEVER,
        deleteByHand: NEVER,
        removeMarkByHand: NEVER,
        loseMarks: NEVER,
        putForeign: NEVER,
        deleteContainer: NEVER,
      },
      containers: async () => ['feed'],
      mails: () => null,
    },
    dialect: undefined as never,
    close: () => proxy.close(),
  };
}

/** Between a feed and its subscriber is no wire, vendor or user who edits: groups that require one cannot exist. */
describeConnector('feed', openFeedTarget, {
  groups: ['repetition', 'two workers', 'late writes', 'texts', 'times'],
  skips: {
    'a delayed update does not overwrite another worker’s newer write': 'no request is on its way',
    'a create that arrives after the deletion of its record is found by its key, and can be deleted':
      'no request is on its way',
  },
});
