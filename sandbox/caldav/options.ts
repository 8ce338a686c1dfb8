/** What a server does otherwise than the standards have it, or as only some do. */
export interface Quirks {
  /** Where a UID may stand once. RFC 4791 section 5.3.2.1: in a calendar. */
  uidsAreUniqueIn: 'calendar' | 'account' | 'nothing';
  /** The condition by which a taken UID is refused. */
  uidTaken: 'no-uid-conflict' | 'unique-scheduling-object-resource';
  /** A PUT that is refused because of its body is answered 207, with the refusal inside. */
  refusesWithin207: boolean;
  /** An event without DTEND is answered 404. */
  needsEnd: boolean;
  /** An event that ends when it starts, or has no end, is refused. */
  needsLength: boolean;
  /**
   * What is answered where the calendar is gone. `conflict`: PUT 409, reports 404. `forbidden-page`: PUT 403 with a web page, reports 404.
   * `silent`: PUT 405, reports 207 with nothing in them. PROPFIND says 404 in each.
   */
  absentCalendar: 'conflict' | 'forbidden-page' | 'silent';
  /** A query with a time range ignores property filters. */
  timeRangeHidesOtherFilters: boolean;
  /** A multiget omits absent objects from its answer. */
  multigetLeavesOutAbsent: boolean;
  /** A multiget that names anything absent is answered 404 as a whole. */
  multigetRefusesAbsent: boolean;
  /** An unknown sync token returns all members; otherwise the answer is 403 with `valid-sync-token`. */
  unknownTokenGetsAll: boolean;
  /**
   * By what a written object can be recognised. `name`: all X- lines are dropped. `uid`: the object also gets another name, and no Location
   * says which. `nothing`: it also gets another UID.
   */
  keeps: 'all' | 'name' | 'uid' | 'nothing';
  /** Which ETags are given with a PUT. */
  putTags: 'strong' | 'weak' | 'none';
}

/** Servers whose ways the sandbox knows. */
export const DIALECT_NAMES = ['standard', 'cyrus', 'xandikos', 'icloud', 'lenient', 'abrupt'] as const;

/** One of {@link DIALECT_NAMES}. */
export type DialectName = (typeof DIALECT_NAMES)[number];

const STANDARD: Quirks = {
  uidsAreUniqueIn: 'calendar',
  uidTaken: 'no-uid-conflict',
  refusesWithin207: false,
  needsEnd: false,
  needsLength: false,
  absentCalendar: 'conflict',
  timeRangeHidesOtherFilters: false,
  multigetLeavesOutAbsent: false,
  multigetRefusesAbsent: false,
  unknownTokenGetsAll: false,
  keeps: 'all',
  putTags: 'strong',
};

/** The quirks of each dialect; the README lists the sources. */
export const DIALECTS: Readonly<Record<DialectName, Quirks>> = {
  standard: STANDARD,
  cyrus: {
    ...STANDARD,
    uidsAreUniqueIn: 'account',
    uidTaken: 'unique-scheduling-object-resource',
    absentCalendar: 'forbidden-page',
    needsLength: true,
  },
  xandikos: { ...STANDARD, refusesWithin207: true },
  icloud: { ...STANDARD, needsEnd: true, putTags: 'none' },
  lenient: {
    ...STANDARD,
    uidsAreUniqueIn: 'nothing',
    absentCalendar: 'silent',
    timeRangeHidesOtherFilters: true,
    multigetLeavesOutAbsent: true,
    unknownTokenGetsAll: true,
    putTags: 'weak',
  },
  abrupt: { ...STANDARD, multigetRefusesAbsent: true },
};

/** What a sandbox is started with; everything has a default. */
export interface CaldavSandboxOptions {
  dialect?: DialectName;
  /** Overrides the quirks of the dialect. */
  quirks?: Partial<Quirks>;
  /** 0 takes a free one. */
  port?: number;
  user?: string;
  password?: string;
}
