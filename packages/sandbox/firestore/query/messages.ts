/** google.firestore.v1.StructuredQuery as decoded: values stay bytes. */
export interface FieldReferenceMessage {
  fieldPath: string;
}

export interface FilterMessage {
  filterType?: 'compositeFilter' | 'fieldFilter' | 'unaryFilter';
  compositeFilter?: { op: number; filters: FilterMessage[] };
  fieldFilter?: { field: FieldReferenceMessage | null; op: number; value: Uint8Array | null };
  unaryFilter?: { field?: FieldReferenceMessage | null; op: number };
}

export interface CursorMessage {
  values: Uint8Array[];
  before: boolean;
}

export interface FindNearestMessage {
  vectorField: FieldReferenceMessage | null;
  queryVector: Uint8Array | null;
  distanceMeasure: number;
  limit: { value: number } | null;
  distanceResultField: string;
  distanceThreshold: { value: number } | null;
}

export interface StructuredQueryMessage {
  select: { fields: FieldReferenceMessage[] } | null;
  from: { collectionId: string; allDescendants: boolean }[];
  where: FilterMessage | null;
  orderBy: { field: FieldReferenceMessage | null; direction: number }[];
  startAt: CursorMessage | null;
  endAt: CursorMessage | null;
  offset: number;
  limit: { value: number } | null;
  findNearest: FindNearestMessage | null;
}

export const composite = { AND: 1, OR: 2 } as const;
export const fieldOperator = {
  LESS_THAN: 1,
  LESS_THAN_OR_EQUAL: 2,
  GREATER_THAN: 3,
  GREATER_THAN_OR_EQUAL: 4,
  EQUAL: 5,
  NOT_EQUAL: 6,
  ARRAY_CONTAINS: 7,
  IN: 8,
  ARRAY_CONTAINS_ANY: 9,
  NOT_IN: 10,
} as const;
export const unary = { IS_NAN: 2, IS_NULL: 3, IS_NOT_NAN: 4, IS_NOT_NULL: 5 } as const;
export const sortDirection = { ASCENDING: 1, DESCENDING: 2 } as const;
