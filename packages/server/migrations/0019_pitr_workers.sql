CREATE TABLE "pitr_workers" (
	"holder" text PRIMARY KEY NOT NULL,
	"heartbeat_at" timestamp (3) with time zone NOT NULL
);
--> statement-breakpoint
ALTER TABLE "pitr_workers" ENABLE ROW LEVEL SECURITY;--> statement-breakpoint
ALTER TABLE "pitr_logs" ADD COLUMN "spent_reads" jsonb DEFAULT '[]'::jsonb NOT NULL;--> statement-breakpoint
ALTER TABLE "pitr_logs" ADD COLUMN "source_keeps_from" text;--> statement-breakpoint
ALTER TABLE "pitr_segments" ADD COLUMN "before_deletes" text;--> statement-breakpoint
CREATE POLICY "system" ON "pitr_workers" AS PERMISSIVE FOR ALL TO "holdfast_system" USING (true) WITH CHECK (true);