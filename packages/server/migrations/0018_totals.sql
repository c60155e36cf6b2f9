CREATE TABLE "totals" (
	"name" text NOT NULL,
	"status" text NOT NULL,
	"slot" integer NOT NULL,
	"count" bigint NOT NULL,
	CONSTRAINT "totals_name_status_slot_pk" PRIMARY KEY("name","status","slot")
);
--> statement-breakpoint
ALTER TABLE "totals" ENABLE ROW LEVEL SECURITY;--> statement-breakpoint
CREATE POLICY "system" ON "totals" AS PERMISSIVE FOR ALL TO "holdfast_system" USING (true) WITH CHECK (true);