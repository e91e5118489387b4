package strictjson_test

import (
	"errors"
	"fmt"

	"github.com/cycles-protocol/cycles-go/gen/strictjson"
)

func Example() {
	s := strictjson.New([]byte(`{"amount": 1e3, "unit": "TOKENS"}`))
	var amount int64
	err := s.Members(func(key []byte) (err error) {
		if string(key) == "amount" {
			amount, err = s.Int64()
			return err
		}
		return s.Skip()
	})
	fmt.Println(amount, err)

	err = strictjson.Check([]byte(`{"amount": 1, "amount": 1000000}`))
	fmt.Println(errors.Is(err, strictjson.ErrDuplicate), err)
	// Output:
	// 1000 <nil>
	// true member named twice at byte 12
}
